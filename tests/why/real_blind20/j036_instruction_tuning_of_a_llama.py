# https://github.com/datawhalechina/self-llm/issues/229
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LlamaDecoderLayer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate_proj, self.up_proj = nn.Linear(hidden, 2 * hidden, bias=False), nn.Linear(hidden, 2 * hidden, bias=False)
        self.down_proj = nn.Linear(2 * hidden, hidden, bias=False)

    def forward(self, x):
        h = self.input_layernorm(x)
        attn = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h), is_causal=True)
        x = x + self.o_proj(attn)
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class LlamaForCausalLM(nn.Module):
    def __init__(self, vocab_size=96, hidden=32, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden)
        self.layers = nn.ModuleList([LlamaDecoderLayer(hidden) for _ in range(layers)])
        self.norm = nn.RMSNorm(hidden)
        self.lm_head = nn.Linear(hidden, vocab_size, bias=False)
        self.gradient_checkpointing = False

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, inputs, output: output.requires_grad_(True))

    def gradient_checkpointing_enable(self, use_reentrant=True):
        self.gradient_checkpointing, self.use_reentrant = True, use_reentrant

    def forward(self, input_ids, labels):
        hidden_states = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden_states = checkpoint(layer, hidden_states, use_reentrant=self.use_reentrant)
            else:
                hidden_states = layer(hidden_states)
        logits = self.lm_head(self.norm(hidden_states))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r, lora_alpha, lora_dropout):
        super().__init__()
        self.base_layer, self.scaling = base_layer, lora_alpha / r
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        self.lora_dropout = nn.Dropout(lora_dropout)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


def get_peft_model(model, target_modules, r=8, lora_alpha=32, lora_dropout=0.1):
    for param in model.parameters():
        param.requires_grad = False
    for layer in model.layers:
        for name in target_modules:
            setattr(layer, name, LoraLinear(getattr(layer, name), r, lora_alpha, lora_dropout))
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print("trainable params:", trainable, "|| all params:", sum(p.numel() for p in model.parameters()))
    return model


class Trainer:
    def __init__(self, model, train_dataset, learning_rate=1e-4, gradient_checkpointing=False, max_steps=4):
        self.model, self.train_dataset, self.max_steps = model, train_dataset, max_steps
        if gradient_checkpointing:
            model.gradient_checkpointing_enable()
        self.optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=learning_rate)

    def train(self):
        self.model.train()
        for step in range(self.max_steps):
            input_ids, labels = self.train_dataset[step % len(self.train_dataset)]
            loss = self.model(input_ids, labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            print({"loss": loss.item(), "step": step})


def process_func(instruction_length=6, length=16, batch_size=4):
    input_ids = torch.randint(0, 96, (batch_size, length))
    labels = input_ids.clone()
    labels[:, :instruction_length] = -100
    return input_ids, labels


# %%
model = LlamaForCausalLM()
model = get_peft_model(model, ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
tokenized_id = [process_func() for _ in range(4)]

# %%
trainer = Trainer(model=model, train_dataset=tokenized_id, learning_rate=1e-4, gradient_checkpointing=True)
trainer.train()
