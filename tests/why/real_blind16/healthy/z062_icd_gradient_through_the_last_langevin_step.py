# https://github.com/yilundu/improved_contrastive_divergence/issues/1
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
STEP_LR, NOISE, NUM_STEPS = 0.1, 0.05, 12


class EnergyModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class ReplayBuffer:
    def __init__(self, size=2000):
        self.points = torch.rand(size, 2) * 4 - 2

    def sample(self, n):
        self.idxs = torch.randint(0, len(self.points), (n,))
        batch = self.points[self.idxs].clone()
        fresh = torch.rand(n) < 0.05
        batch[fresh] = torch.rand(int(fresh.sum()), 2) * 4 - 2
        return batch

    def add(self, points):
        self.points[self.idxs] = points


def gen_image(model, im_neg):
    for i in range(NUM_STEPS):
        im_neg = im_neg + NOISE * torch.randn_like(im_neg)
        im_neg.requires_grad_(True)
        im_grad, = torch.autograd.grad(model(im_neg).sum(), im_neg)
        if i == NUM_STEPS - 1:
            # the same step once more, this time with the graph of the gradient
            grad_kl, = torch.autograd.grad(model(im_neg).sum(), im_neg, create_graph=True)
            im_neg_kl = im_neg - STEP_LR * grad_kl
        im_neg = (im_neg - STEP_LR * im_grad).detach()
    return im_neg, im_neg_kl


def ring(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.07 * torch.randn(n, 2)


# %%
model, replay = EnergyModel(), ReplayBuffer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.0, 0.999))
kl_norms, gaps = [], []

# %%
for itr in range(220):
    data = ring(128)
    im_neg, im_neg_kl = gen_image(model, replay.sample(128))
    gaps.append((im_neg - im_neg_kl.detach()).abs().max().item())
    replay.add(im_neg)
    energy_pos, energy_neg = model(data), model(im_neg)
    loss = energy_pos.mean() - energy_neg.mean() + 0.5 * (energy_pos.pow(2).mean() + energy_neg.pow(2).mean())
    # the energy is a constant judge here: only the step that led to the points shall learn
    model.requires_grad_(False)
    loss_kl = model(im_neg_kl).mean()
    model.requires_grad_(True)
    if itr % 55 == 0:
        grads = torch.autograd.grad(loss_kl, list(model.parameters()), retain_graph=True, allow_unused=True)
        kl_norms.append(sum(g.norm().item() for g in grads if g is not None))
    loss = loss + 0.3 * loss_kl
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()

# %%
samples = torch.rand(500, 2) * 4 - 2
for _ in range(5):
    samples, _ = gen_image(model, samples)
radius = samples.norm(dim=1)
print(radius.mean().item(), radius.std().item(), kl_norms, max(gaps))
assert max(gaps) < 1e-6 and not im_neg.requires_grad and im_neg_kl.requires_grad
assert all(n > 0 for n in kl_norms)
assert 0.8 < radius.mean() < 1.2 and (radius - 1).abs().median() < 0.25
