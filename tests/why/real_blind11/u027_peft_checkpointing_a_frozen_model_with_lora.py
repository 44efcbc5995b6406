# https://github.com/huggingface/peft/issues/137
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4, lora_alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x)) * self.scaling


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, h):
        weights = F.softmax(self.q(h) @ self.k(h).transpose(1, 2) / h.size(-1) ** 0.5, dim=-1)
        return h + weights @ self.v(h)


class Seq2Seq(nn.Module):
    def __init__(self, vocab=100, dim=32):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Block(dim) for _ in range(2)])
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids):
        h = self.embed_tokens(input_ids)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=True)
        return self.lm_head(h)


def get_peft_model(model, target_modules=("q", "v")):
    for p in model.parameters():
        p.requires_grad = False
    for layer in model.layers:
        for name in target_modules:
            setattr(layer, name, LoraLinear(getattr(layer, name)))
    return model


# %%
model = get_peft_model(Seq2Seq())
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
input_ids, labels = torch.randint(0, 100, (8, 10)), torch.randint(0, 100, (8, 10))

# %%
model.train()
for step in range(2):
    loss = F.cross_entropy(model(input_ids).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
