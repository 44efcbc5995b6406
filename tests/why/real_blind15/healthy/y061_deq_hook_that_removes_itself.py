# https://github.com/locuslab/deq/issues/24
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd

torch.manual_seed(0)


def forward_iteration(f, z0, threshold=60, eps=1e-6):
    z = z0
    for step in range(threshold):
        z_next = f(z)
        if (z_next - z).norm() < eps * (1 + z_next.norm()):
            return z_next
        z = z_next
    return z


class Cell(nn.Module):
    def __init__(self, d_in, d_hidden):
        super().__init__()
        self.inject = nn.Linear(d_in, d_hidden)
        self.W = nn.Linear(d_hidden, d_hidden, bias=False)
        nn.init.orthogonal_(self.W.weight, gain=0.6)

    def forward(self, z, x):
        return torch.tanh(self.W(z) + self.inject(x))


class MDEQNet(nn.Module):
    def __init__(self, d_in=2, d_hidden=32, num_classes=2):
        super().__init__()
        self.fullstage = Cell(d_in, d_hidden)
        self.classifier = nn.Linear(d_hidden, num_classes)
        self.d_hidden, self.hook, self.hook_calls = d_hidden, None, 0

    def _forward(self, x):
        func = lambda z: self.fullstage(z, x)
        with torch.no_grad():
            z_star = forward_iteration(func, torch.zeros(len(x), self.d_hidden))
        new_z = z_star
        if self.training:
            new_z = func(z_star.requires_grad_())

            def backward_hook(grad):
                self.hook_calls += 1
                if self.hook is not None:
                    # the gradient asked for below goes through this tensor again
                    self.hook.remove()
                    self.hook = None
                g = forward_iteration(
                    lambda y: autograd.grad(new_z, z_star, y, retain_graph=True)[0] + grad, torch.zeros_like(grad)
                )
                return g

            self.hook = new_z.register_hook(backward_hook)
        return new_z

    def forward(self, x):
        return self.classifier(self._forward(x))


def moons(n):
    y = torch.randint(0, 2, (n,))
    angle, side = torch.rand(n) * 3.1416, (1 - 2 * y).float()
    x = torch.stack([angle.cos() + y - 0.5, angle.sin() * side + 0.4 * y - 0.2], 1)
    return 2 * (x + 0.08 * torch.randn(n, 2)), y


# %%
model = MDEQNet()
x, y = moons(16)
model.train()
F.cross_entropy(model(x), y).backward()
implicit = model.fullstage.inject.weight.grad.clone()
model.zero_grad()
z = torch.zeros(16, 32)
for _ in range(60):
    z = model.fullstage(z, x)
unrolled, = autograd.grad(F.cross_entropy(model.classifier(z), y), model.fullstage.inject.weight)

# %%
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses, before = [], model.hook_calls
for it in range(70):
    x, y = moons(128)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    x, y = moons(500)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
print(losses[0], losses[-1], accuracy, (implicit - unrolled).abs().max().item())
assert torch.allclose(implicit, unrolled, atol=1e-4)
assert model.hook_calls - before == 70 and model.hook is None
assert accuracy > 0.95
