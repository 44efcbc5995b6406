# https://github.com/Cranial-XIX/FAMO/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FAMO:
    def __init__(self, n_tasks, gamma=0.01, w_lr=0.025, max_norm=1.0):
        self.min_losses = torch.zeros(n_tasks)
        self.w = torch.zeros(n_tasks, requires_grad=True)
        self.w_opt = torch.optim.Adam([self.w], lr=w_lr, weight_decay=gamma)
        self.max_norm = max_norm
        self.n_tasks = n_tasks

    def get_weighted_loss(self, losses):
        self.prev_loss = losses
        z = F.softmax(self.w, -1)
        D = losses - self.min_losses + 1e-8
        c = (z / D).sum().detach()
        return (D.log() * z / c).sum()

    def update(self, curr_loss):
        delta = (self.prev_loss - self.min_losses + 1e-8).log() - (curr_loss - self.min_losses + 1e-8).log()
        with torch.enable_grad():
            d = torch.autograd.grad(F.softmax(self.w, -1), self.w, grad_outputs=delta.detach())[0]
        self.w_opt.zero_grad()
        self.w.grad = d
        self.w_opt.step()

    def backward(self, losses, shared_parameters=None):
        loss = self.get_weighted_loss(losses=losses)
        if self.max_norm > 0 and shared_parameters is not None:
            torch.nn.utils.clip_grad_norm_(shared_parameters, self.max_norm)
        loss.backward()
        return loss


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(32, 1), nn.Linear(32, 1)])

    def forward(self, x):
        h = self.shared(x)
        return [head(h) for head in self.heads]


# %%
model = Model()
shared_parameters = list(model.shared.parameters())
weight_opt = torch.optim.SGD(model.parameters(), lr=1e-4)
famo = FAMO(n_tasks=2)

# %%
for step in range(3):
    x = torch.randn(16, 4)
    ys = [20 * x.sum(1, keepdim=True), 50 * x.prod(1, keepdim=True)]
    losses = torch.stack([F.mse_loss(p, y) for p, y in zip(model(x), ys)])
    weight_opt.zero_grad()
    famo.backward(losses, shared_parameters)
    weight_opt.step()
    with torch.no_grad():
        famo.update(torch.stack([F.mse_loss(p, y) for p, y in zip(model(x), ys)]))
    norm = torch.stack([p.grad.norm() for p in shared_parameters]).norm()
    print(step, losses.tolist(), norm.item())
