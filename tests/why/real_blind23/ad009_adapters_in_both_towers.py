# https://github.com/unslothai/unsloth/issues/5039
import re

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(dim)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.input_layernorm(x)
        attn = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h))
        x = x + self.o_proj(attn)
        return x + self.mlp(x)


class Tower(nn.Module):
    def __init__(self, embed, dim, n_layers):
        super().__init__()
        self.embed = embed
        self.layers = nn.ModuleList([Layer(dim) for _ in range(n_layers)])
        self.gradient_checkpointing = False

    def forward(self, inputs, prefix=None):
        x = self.embed(inputs)
        if prefix is not None:
            x = torch.cat([prefix, x], dim=1)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)
            else:
                x = layer(x)
        return x


class Gemma4Model(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.language_model = Tower(nn.Embedding(vocab, dim), dim, 2)
        self.vision_tower = Tower(nn.Linear(12, dim), dim, 2)
        self.embed_vision = nn.Linear(dim, dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids, pixel_values, labels):
        image = self.embed_vision(self.vision_tower(pixel_values))
        hidden = self.language_model(input_ids, prefix=image)[:, image.shape[1]:]
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def get_peft_model(model):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name.endswith("_proj"):
                setattr(module, name, LoraLinear(child))
    return model


def requires_grad_for_gradient_checkpointing(model):
    for name, param in model.named_parameters():
        if param.requires_grad:
            break
    tower = re.match(r"[^.]+", name).group(0)

    def requires_grad_post_hook(module, input, output):
        output.requires_grad_(True)

    getattr(model, tower).embed.register_forward_hook(requires_grad_post_hook)


# %%
model = get_peft_model(Gemma4Model())
model.language_model.gradient_checkpointing = model.vision_tower.gradient_checkpointing = True
requires_grad_for_gradient_checkpointing(model)
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
input_ids = torch.randint(0, 40, (4, 10))
pixel_values = torch.rand(4, 6, 12)

# %%
for step in range(10):
    loss = model(input_ids, pixel_values, input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# %%
for name, p in model.named_parameters():
    if p.requires_grad and "layers.0.q_proj" in name:
        print(name, p.grad if p.grad is None else p.grad.norm().item())
