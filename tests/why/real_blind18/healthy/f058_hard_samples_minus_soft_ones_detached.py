# https://github.com/pytorch/pytorch/issues/48574
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def gumbel_softmax(logits, tau=1, hard=False, dim=-1):
    gumbels = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    gumbels = (logits + gumbels) / tau
    y_soft = gumbels.softmax(dim)
    if hard:
        # Straight through.
        index = y_soft.max(dim, keepdim=True)[1]
        y_hard = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
        ret = y_hard - y_soft.detach() + y_soft
    else:
        # Reparametrization trick.
        ret = y_soft
    return ret


class CategoricalAutoencoder(nn.Module):
    def __init__(self, n_latents=2, n_categories=4):
        super().__init__()
        self.n_latents, self.n_categories = n_latents, n_categories
        self.encoder = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, n_latents * n_categories))
        self.decoder = nn.Sequential(nn.Linear(n_latents * n_categories, 48), nn.ReLU(), nn.Linear(48, 24))

    def forward(self, x, tau):
        logits = self.encoder(x).view(-1, self.n_latents, self.n_categories)
        codes = gumbel_softmax(logits, tau=tau, hard=True)
        return self.decoder(codes.flatten(1)), logits, codes


def signals(n):
    pulse, level = torch.randint(0, 4, (n,)), torch.randint(0, 4, (n,))
    x = torch.zeros(n, 24)
    x[torch.arange(n).unsqueeze(1), pulse.unsqueeze(1) * 3 + torch.arange(3)] = 1.0
    x[:, 12:] = (level.float() / 3).unsqueeze(1)
    return x + 0.03 * torch.randn(n, 24)


# %%
model = CategoricalAutoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses, tau = [], 1.0

# %%
for step in range(500):
    x = signals(64)
    recon, logits, codes = model(x, tau)
    prior = (logits.softmax(-1) * (logits.log_softmax(-1) + torch.tensor(4.0).log())).sum((1, 2)).mean()
    loss = F.mse_loss(recon, x, reduction='sum') / len(x) + 0.02 * prior
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tau = max(0.5, tau * 0.998)
    losses.append(loss.item())

# %%
a = torch.randn(5, 4, requires_grad=True)
w = torch.randn(5, 4)
torch.manual_seed(3)
hard = gumbel_softmax(a, tau=0.7, hard=True)
by_hard, = torch.autograd.grad((hard * w).sum(), a)
torch.manual_seed(3)
by_soft, = torch.autograd.grad((gumbel_softmax(a, tau=0.7, hard=False) * w).sum(), a)
same = torch.allclose(by_hard, by_soft)
one_hot = torch.allclose(hard, F.one_hot(hard.argmax(-1), 4).float(), atol=1e-6)
print(losses[0], sum(losses[-20:]) / 20, same, one_hot, codes.requires_grad)
assert same and one_hot and all(p.grad.abs().max() > 0 for p in model.encoder.parameters())
assert sum(losses[-20:]) / 20 < 0.35 * losses[0]
