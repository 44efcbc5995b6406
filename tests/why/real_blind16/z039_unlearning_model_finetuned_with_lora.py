# https://github.com/locuslab/open-unlearning/pull/28
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)

vocab, dim, heads = 64, 32, 4


class LoraLinear(nn.Module):
    def __init__(self, base, r, alpha):
        super().__init__()
        self.base_layer, self.scaling = base, alpha / r
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.scaling * self.lora_B(self.lora_A(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.dense = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(*x.shape[:2], heads, -1).transpose(1, 2) for t in (q, k, v))
        mask = torch.full((x.shape[1], x.shape[1]), -1e9).triu(1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(dim // heads) + mask
        x = x + self.dense((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class CausalLM(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Block() for _ in range(layers)])
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def forward(self, input_ids, labels):
        x = self.embed_tokens(input_ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=True) if self.gradient_checkpointing else layer(x)
        logits = self.lm_head(x)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def get_peft_model(model, r=4, alpha=8):
    model.requires_grad_(False)
    for block in model.layers:
        for name in ("qkv", "dense", "fc1", "fc2"):
            setattr(block, name, LoraLinear(getattr(block, name), r, alpha))
    return model


model = CausalLM()
model.gradient_checkpointing_enable()
model = get_peft_model(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

# %%
model.train()
for step in range(5):
    input_ids = torch.randint(0, vocab, (4, 12))
    loss = model(input_ids, labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
