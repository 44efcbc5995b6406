# https://github.com/Yuanshi9815/OminiControl/issues/54
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=4, init_lora_weights="gaussian"):
        super().__init__()
        self.base_layer = base_layer
        for p in self.base_layer.parameters():
            p.requires_grad_(False)
        self.scaling = lora_alpha / r
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        if init_lora_weights == "gaussian":
            nn.init.normal_(self.lora_A.weight, std=1 / r)
        else:
            nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x)) * self.scaling


class FluxBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.to_out = nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.to_out(F.scaled_dot_product_attention(self.to_q(h), self.to_k(h), self.to_v(h)))
        return x + self.ff(self.norm(x))


class Transformer(nn.Module):
    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.x_embedder, self.time_embed = nn.Linear(1, dim), nn.Linear(1, dim)
        self.pos = nn.Parameter(torch.randn(16, dim) * 0.5)
        self.blocks = nn.ModuleList(FluxBlock(dim) for _ in range(depth))
        self.proj_out = nn.Linear(dim, 1)

    def forward(self, x_t, t, cond=None):
        h = self.x_embedder(x_t.unsqueeze(-1)) + self.pos[:8] + self.time_embed(t.view(-1, 1, 1))
        if cond is not None:
            h = torch.cat([h, self.x_embedder(cond.unsqueeze(-1)) + self.pos[8:]], 1)
        for block in self.blocks:
            h = block(h)
        return self.proj_out(h[:, :8]).squeeze(-1)


def flow_loss(transformer, x_0, cond=None):
    t = torch.sigmoid(torch.randn(len(x_0), 1))
    x_1 = torch.randn_like(x_0)
    x_t = (1 - t) * x_0 + t * x_1
    return F.mse_loss(transformer(x_t, t, cond), x_1 - x_0)


def waves(n):
    return torch.sin(torch.arange(8.0) * 0.8 + torch.rand(n, 1) * 6.28)


# %%
transformer = Transformer()
optimizer = torch.optim.AdamW(transformer.parameters(), lr=3e-3)
for _ in range(120):
    optimizer.zero_grad()
    flow_loss(transformer, waves(64)).backward()
    optimizer.step()

# %%
transformer.requires_grad_(False)
for block in transformer.blocks:
    for name in ("to_q", "to_k", "to_v", "to_out"):
        setattr(block, name, LoraLinear(getattr(block, name)))
    block.ff[0], block.ff[2] = LoraLinear(block.ff[0]), LoraLinear(block.ff[2])
lora_layers = [p for p in transformer.parameters() if p.requires_grad]
base_before = {n: p.detach().clone() for n, p in transformer.named_parameters() if not p.requires_grad}
optimizer = torch.optim.AdamW(lora_layers, lr=1e-2)

# %%
losses, grads = [], []
for step in range(160):
    x_0 = waves(64)
    loss = flow_loss(transformer, x_0, cond=x_0)
    optimizer.zero_grad()
    loss.backward()
    if step < 2:
        grads.append({n: p.grad.norm().item() for n, p in transformer.named_parameters() if p.grad is not None})
    optimizer.step()
    losses.append(loss.item())

# %%
first_a = max(v for n, v in grads[0].items() if 'lora_A' in n)
second_a = min(v for n, v in grads[1].items() if 'lora_A' in n)
base_moved = any(not torch.equal(base_before[n], p) for n, p in transformer.named_parameters() if n in base_before)
begin, end = sum(losses[:10]) / 10, sum(losses[-10:]) / 10
print(first_a, second_a, base_moved, begin, end)
assert first_a == 0 and second_a > 0 and not base_moved
assert end < 0.6 * begin
