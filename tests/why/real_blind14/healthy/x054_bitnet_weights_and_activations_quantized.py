# https://github.com/kyegomez/BitNet/issues/51
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def activation_quant(x):
    scale = 127.0 / x.abs().max(dim=-1, keepdim=True).values.clamp_(min=1e-5)
    return (x * scale).round().clamp_(-128, 127) / scale


def weight_quant(w):
    scale = w.abs().mean()
    e = w.mean()
    return (w - e).sign() * scale


class SimpleRMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale


class BitLinear(nn.Linear):
    def forward(self, x):
        w = self.weight
        x_norm = SimpleRMSNorm(self.in_features)(x)
        x_quant = x_norm + (activation_quant(x_norm) - x_norm).detach()
        w_quant = w + (weight_quant(w) - w).detach()
        return F.linear(x_quant, w_quant)


class BitFeedForward(nn.Module):
    def __init__(self, dim, mult=4):
        super().__init__()
        self.ff = nn.Sequential(BitLinear(dim, dim * mult, bias=False), nn.GELU(), BitLinear(dim * mult, dim, bias=False))

    def forward(self, x):
        return x + self.ff(x)


class BitClassifier(nn.Module):
    def __init__(self, features=16, dim=32, classes=4):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.layers = nn.Sequential(BitFeedForward(dim), BitFeedForward(dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.layers(self.embed(x)))


centers = torch.randn(4, 2, 16)


def draw_batch(n=64):
    y = torch.randint(0, 4, (n,))
    which = torch.randint(0, 2, (n,))
    return centers[y, which] + 0.4 * torch.randn(n, 16), y


# %%
model = BitClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
bits_before = model.layers[0].ff[0].weight.detach().sign()

# %%
losses = []
for step in range(200):
    x, y = draw_batch()
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])

# %%
x, y = draw_batch(500)
with torch.no_grad():
    accuracy = (model(x).argmax(1) == y).float().mean().item()
bits_after = model.layers[0].ff[0].weight.detach().sign()
print(accuracy, (bits_before != bits_after).sum().item())
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert len(weight_quant(model.layers[0].ff[0].weight.detach()).unique()) == 2
assert accuracy > 0.9
