# https://github.com/ermongroup/ncsn/blob/master/losses/sliced_sm.py
import numpy as np
import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


def single_sliced_score_matching(energy_net, samples, noise=None, detach=False, noise_type='radermacher'):
    samples.requires_grad_(True)
    if noise is None:
        vectors = torch.randn_like(samples)
        if noise_type == 'radermacher':
            vectors = vectors.sign()
        elif noise_type == 'sphere':
            vectors = vectors / torch.norm(vectors, dim=-1, keepdim=True) * np.sqrt(vectors.shape[-1])
    else:
        vectors = noise

    logp = -energy_net(samples).sum()
    grad1 = autograd.grad(logp, samples, create_graph=True)[0]
    gradv = torch.sum(grad1 * vectors)
    loss1 = torch.sum(grad1 * vectors, dim=-1) ** 2 * 0.5
    if detach:
        loss1 = loss1.detach()
    grad2 = autograd.grad(gradv, samples, create_graph=True)[0]
    loss2 = torch.sum(vectors * grad2, dim=-1)
    if detach:
        loss2 = loss2.detach()

    loss = (loss1 + loss2).mean()
    return loss, grad1, grad2


class Energy(nn.Module):
    def __init__(self, hidden_units=64):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, hidden_units), nn.Softplus(), nn.Linear(hidden_units, hidden_units), nn.Softplus(),
            nn.Linear(hidden_units, 1, bias=False))

    def forward(self, x):
        return self.main(x).squeeze(-1) + 0.05 * x.pow(2).sum(-1)


class ToyRunner:
    def __init__(self, noise_type='radermacher', lr=2e-3):
        self.noise_type = noise_type
        self.energy = Energy()
        self.optimizer = optim.Adam(self.energy.parameters(), lr=lr)
        self.losses = []

    def sample(self, n):
        centers = torch.tensor([[1.5, 0.0], [-1.5, 0.0]])
        return centers[torch.randint(0, 2, (n,))] + torch.tensor([0.5, 1.0]) * torch.randn(n, 2)

    def train(self, steps):
        for step in range(steps):
            samples = self.sample(128)
            loss, grad1, _ = single_sliced_score_matching(self.energy, samples, noise_type=self.noise_type)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())

    def score(self, x):
        x = x.detach().requires_grad_(True)
        return autograd.grad(-self.energy(x).sum(), x)[0]


def true_score(x):
    x = x.detach().requires_grad_(True)
    scale = torch.tensor([0.5, 1.0])
    logits = [-(((x - torch.tensor(c)) / scale) ** 2).sum(-1) / 2 for c in ([1.5, 0.0], [-1.5, 0.0])]
    return autograd.grad(torch.logsumexp(torch.stack(logits), 0).sum(), x)[0]


# %%
runner = ToyRunner()
points = runner.sample(400)
before = (runner.score(points) - true_score(points)).pow(2).sum(-1).mean().item()
runner.train(500)

# %%
after = (runner.score(points) - true_score(points)).pow(2).sum(-1).mean().item()
early, late = np.mean(runner.losses[:20]), np.mean(runner.losses[-20:])
print(early, late, before, after)
