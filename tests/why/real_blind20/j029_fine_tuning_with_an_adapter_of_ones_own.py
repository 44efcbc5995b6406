# https://github.com/huggingface/trl/issues/3926
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class DecoderLayer(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(hidden)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(hidden, hidden, bias=False) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(hidden, 2 * hidden), nn.SiLU(), nn.Linear(2 * hidden, hidden))

    def forward(self, x):
        h = self.input_layernorm(x)
        attn = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h), is_causal=True)
        return x + attn + self.mlp(h)


class LlamaForCausalLM(nn.Module):
    def __init__(self, vocab_size=64, hidden=32, layers=2, is_loaded_in_4bit=False):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden)
        self.layers = nn.ModuleList([DecoderLayer(hidden) for _ in range(layers)])
        self.lm_head = nn.Linear(hidden, vocab_size, bias=False)
        self.gradient_checkpointing = False
        self.is_loaded_in_4bit = is_loaded_in_4bit

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, inputs, output: output.requires_grad_(True))

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def forward(self, input_ids, labels):
        hidden = self.embed_tokens(input_ids)
        for layer in self.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=True) if self.gradient_checkpointing else layer(hidden)
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r, lora_alpha):
        super().__init__()
        self.base_layer, self.scaling = base_layer, lora_alpha / r
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


class PeftModel(nn.Module):
    def __init__(self, base_model, r=8, lora_alpha=16, target_modules=("q_proj", "v_proj")):
        super().__init__()
        self.base_model, self.is_loaded_in_4bit = base_model, base_model.is_loaded_in_4bit
        for param in base_model.parameters():
            param.requires_grad = False
        for layer in base_model.layers:
            for name in target_modules:
                setattr(layer, name, LoraLinear(getattr(layer, name), r, lora_alpha))

    def forward(self, input_ids, labels):
        return self.base_model(input_ids, labels)


def prepare_model_for_kbit_training(model, use_gradient_checkpointing=True):
    for name, param in model.named_parameters():
        # freeze base model's layers
        param.requires_grad = False
    base = getattr(model, "base_model", model)
    if use_gradient_checkpointing:
        base.enable_input_require_grads()
        base.gradient_checkpointing_enable()
    return model


@dataclass
class SFTConfig:
    learning_rate: float = 1e-2
    max_steps: int = 30
    gradient_checkpointing: bool = True
    max_grad_norm: float = 1.0


class SFTTrainer:
    def __init__(self, model, args, train_dataset, peft_config=None):
        self.args, self.train_dataset = args, train_dataset
        self.model = self._prepare_peft_model(model, peft_config, args)
        params = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW([{"params": params}], lr=args.learning_rate)

    def _prepare_peft_model(self, model, peft_config, args):
        is_qlora = getattr(model, "is_loaded_in_4bit", False) or getattr(model, "is_loaded_in_8bit", False)
        if is_qlora:
            model = prepare_model_for_kbit_training(model, args.gradient_checkpointing)
        if peft_config is not None:
            model = PeftModel(model, **peft_config)
        return model

    def train(self):
        self.log_history = []
        for step in range(self.args.max_steps):
            input_ids = self.train_dataset[torch.randint(0, len(self.train_dataset), (8,))]
            loss = self.model(input_ids, labels=input_ids)
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.log_history.append({"loss": loss.item(), "grad_norm": float(grad_norm)})


# %%
train_dataset = (torch.randint(0, 64, (64, 1)) + 3 * torch.arange(12)) % 64
base_model = LlamaForCausalLM(is_loaded_in_4bit=True)
model = PeftModel(base_model, r=8, lora_alpha=16)

# %%
trainer = SFTTrainer(model, args=SFTConfig(), train_dataset=train_dataset)
trainer.train()
for log in trainer.log_history[::10]:
    print(log)
