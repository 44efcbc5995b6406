# https://github.com/huggingface/trl/issues/3150
import math
from collections import namedtuple
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class DecoderLayer(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(hidden_size)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(hidden_size, hidden_size) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(hidden_size, 2 * hidden_size), nn.SiLU(), nn.Linear(2 * hidden_size, hidden_size))

    def forward(self, hidden_states):
        x = self.input_layernorm(hidden_states)
        attn = F.scaled_dot_product_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), is_causal=True)
        hidden_states = hidden_states + attn
        return hidden_states + self.mlp(hidden_states)


class CausalLM(nn.Module):
    def __init__(self, vocab_size=40, hidden_size=16, num_layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList([DecoderLayer(hidden_size) for _ in range(num_layers)])
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)
        self.checkpointing_kwargs = None

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, inputs, output: output.requires_grad_(True))

    def gradient_checkpointing_enable(self, kwargs):
        self.checkpointing_kwargs = kwargs

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.checkpointing_kwargs is None:
                hidden_states = layer(hidden_states)
            else:
                hidden_states = checkpoint(layer, hidden_states, **self.checkpointing_kwargs)
        return self.lm_head(hidden_states)

    @torch.no_grad()
    def generate(self, input_ids, max_new_tokens):
        for _ in range(max_new_tokens):
            probs = self(input_ids)[:, -1].softmax(-1)
            input_ids = torch.cat([input_ids, torch.multinomial(probs, 1)], dim=1)
        return input_ids


LoraConfig = namedtuple('LoraConfig', 'r lora_alpha lora_dropout target_modules', defaults=[('q_proj', 'v_proj')])


class LoraLinear(nn.Module):
    def __init__(self, base_layer, config):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, config.r, bias=False)
        self.lora_B = nn.Linear(config.r, base_layer.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)
        self.lora_dropout = nn.Dropout(config.lora_dropout)
        self.scaling = config.lora_alpha / config.r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


def get_peft_model(model, config):
    for param in model.parameters():
        param.requires_grad = False
    for layer in model.layers:
        for name in config.target_modules:
            setattr(layer, name, LoraLinear(getattr(layer, name), config))
    return model


@dataclass
class GRPOConfig:
    learning_rate: float = 1e-5
    max_completion_length: int = 6
    num_generations: int = 8
    gradient_checkpointing: bool = False
    gradient_checkpointing_kwargs: dict = None


class GRPOTrainer:
    def __init__(self, model, reward_funcs, args, train_dataset):
        self.model, self.reward_funcs, self.args, self.train_dataset = model, reward_funcs, args, train_dataset
        if args.gradient_checkpointing:
            model.gradient_checkpointing_enable(args.gradient_checkpointing_kwargs)
        trainable = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trainable, lr=args.learning_rate)

    def _get_per_token_logps(self, input_ids, prompt_length):
        logits = self.model(input_ids)[:, prompt_length - 1:-1]
        return torch.gather(logits.log_softmax(-1), 2, input_ids[:, prompt_length:, None]).squeeze(2)

    def compute_loss(self, prompt):
        prompts = prompt.repeat(self.args.num_generations, 1)
        ids = self.model.generate(prompts, self.args.max_completion_length)
        rewards = self.reward_funcs(ids[:, prompt.size(0):])
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        per_token_logps = self._get_per_token_logps(ids, prompt.size(0))
        per_token_loss = -torch.exp(per_token_logps - per_token_logps.detach()) * advantages.unsqueeze(1)
        return per_token_loss.mean()

    def train(self):
        for step, prompt in enumerate(self.train_dataset):
            loss = self.compute_loss(prompt)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            print(step, loss.item())


# %%
model = CausalLM()
lora_config = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05)
lora_model = get_peft_model(model, lora_config)

# %%
def reward_even(completions):
    return (completions % 2 == 0).float().mean(1)


training_args = GRPOConfig(learning_rate=1e-5, num_generations=8, gradient_checkpointing=True,
                           gradient_checkpointing_kwargs=dict(use_reentrant=True))
trainer = GRPOTrainer(model=lora_model, reward_funcs=reward_even, args=training_args,
                      train_dataset=torch.randint(0, 40, (3, 5)))

# %%
trainer.train()
