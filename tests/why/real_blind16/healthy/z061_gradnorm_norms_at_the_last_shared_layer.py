# https://github.com/hosseinshn/GradNorm/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MTLnet(nn.Module):
    def __init__(self, feature_dim=6, shared=64, tower=32):
        super().__init__()
        self.sharedlayer = nn.Sequential(nn.Linear(feature_dim, shared), nn.ReLU(), nn.Linear(shared, shared), nn.ReLU())
        self.tower1 = nn.Sequential(nn.Linear(shared, tower), nn.ReLU(), nn.Linear(tower, 1))
        self.tower2 = nn.Sequential(nn.Linear(shared, tower), nn.ReLU(), nn.Linear(tower, 1))

    def forward(self, x):
        h = self.sharedlayer(x)
        return self.tower1(h), self.tower2(h)


A, B = torch.randn(6, 1), torch.randn(6, 1)


def sample(n):
    """Two tasks of the same make, the second in units in which it is twelve times as large."""
    x = torch.randn(n, 6)
    return x, torch.tanh(x @ A) + 0.02 * torch.randn(n, 1), 12 * torch.tanh(x @ B) + 0.24 * torch.randn(n, 1)


def relative_errors(model):
    with torch.no_grad():
        x, y1, y2 = sample(1000)
        p1, p2 = model(x)
        return F.mse_loss(p1, y1).item() / y1.var().item(), F.mse_loss(p2, y2).item() / y2.var().item()


# %%
model = MTLnet()
weights = nn.Parameter(torch.ones(2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
optimizer_w = torch.optim.Adam([weights], lr=2e-2)
W = model.sharedlayer[2].weight
alpha, initial, norms = 0.16, None, []

# %%
for step in range(400):
    x, y1, y2 = sample(128)
    p1, p2 = model(x)
    task_losses = torch.stack([F.mse_loss(p1, y1), F.mse_loss(p2, y2)])
    if initial is None:
        initial = task_losses.detach()
    loss = (weights * task_losses).sum()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)

    # both are asked at the same layer, the last that the towers share
    G = torch.stack([
        torch.autograd.grad(weights[i] * task_losses[i], W, retain_graph=True, create_graph=True)[0].norm() for i in range(2)
    ])
    ratio = task_losses.detach() / initial
    target = (G.mean() * (ratio / ratio.mean()) ** alpha).detach()
    Lgrad = (G - target).abs().sum()
    weights.grad = torch.autograd.grad(Lgrad, weights)[0]
    optimizer_w.step()
    optimizer.step()
    with torch.no_grad():
        weights.clamp_(min=1e-3)
        weights.mul_(2 / weights.sum())
    norms.append(G.detach())

# %%
first = norms[0][1] / norms[0][0]
late = torch.stack(norms[-50:]).mean(0)
last = late[1] / late[0]
errors = relative_errors(model)
print(first.item(), last.item(), weights.tolist(), errors)
assert first > 5 and 0.4 < last < 2.5
assert weights[0] > 4 * weights[1] and weights.sum().item() - 2 < 1e-4
assert max(errors) < 0.15
