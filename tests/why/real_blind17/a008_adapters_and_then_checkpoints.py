# https://github.com/huggingface/transformers/issues/26334
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class DecoderLayer(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.q_proj = nn.Linear(hidden_size, hidden_size)
        self.v_proj = nn.Linear(hidden_size, hidden_size)
        self.mlp = nn.Sequential(nn.Linear(hidden_size, hidden_size * 2), nn.SiLU(), nn.Linear(hidden_size * 2, hidden_size))

    def forward(self, hidden_states):
        q = self.q_proj(hidden_states)
        attn = nn.functional.scaled_dot_product_attention(q, hidden_states, self.v_proj(hidden_states), is_causal=True)
        hidden_states = hidden_states + attn
        return hidden_states + self.mlp(hidden_states)


class CausalLM(nn.Module):
    def __init__(self, vocab_size=64, hidden_size=16, num_layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(hidden_size) for _ in range(num_layers))
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)
        self.is_gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.is_gradient_checkpointing = True

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, input, output):
            output.requires_grad_(True)

        self.embed_tokens.register_forward_hook(make_inputs_require_grads)

    def forward(self, input_ids, labels):
        hidden_states = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.is_gradient_checkpointing and self.training:
                hidden_states = checkpoint(layer, hidden_states, use_reentrant=True)
            else:
                hidden_states = layer(hidden_states)
        logits = self.lm_head(hidden_states)
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


@dataclass
class LoraConfig:
    r: int = 4
    lora_alpha: int = 16
    target_modules: tuple = ("q_proj", "v_proj")


class LoraLinear(nn.Module):
    def __init__(self, base_layer, config):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, config.r, bias=False)
        self.lora_B = nn.Linear(config.r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = config.lora_alpha / config.r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


def get_peft_model(model, config):
    if model.is_gradient_checkpointing:
        model.enable_input_require_grads()
    for p in model.parameters():
        p.requires_grad = False
    for layer in model.layers:
        for name in config.target_modules:
            setattr(layer, name, LoraLinear(getattr(layer, name), config))
    return model


model = CausalLM()
model = get_peft_model(model, LoraConfig())
model.gradient_checkpointing_enable()
trainable = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trainable), "trainable parameters")

# %%
optimizer = torch.optim.AdamW(trainable, lr=1e-3)
model.train()
for step in range(3):
    input_ids = torch.randint(0, 64, (4, 12))
    loss = model(input_ids, labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
