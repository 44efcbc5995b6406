# https://github.com/benmoseley/harmonic-oscillator-pinn/blob/main/Harmonic%20oscillator%20PINN.ipynb
import math
import torch
import torch.nn as nn

torch.manual_seed(123)


def oscillator(d, w0, x):
    """What an oscillator with little damping does."""
    w = math.sqrt(w0 ** 2 - d ** 2)
    phi = math.atan(-d / w)
    return torch.exp(-d * x) * torch.cos(phi + w * x) / math.cos(phi)


class FCN(nn.Module):
    def __init__(self, n_input, n_output, n_hidden, n_layers):
        super().__init__()
        self.fcs = nn.Sequential(nn.Linear(n_input, n_hidden), nn.Tanh())
        self.fch = nn.Sequential(*[nn.Sequential(nn.Linear(n_hidden, n_hidden), nn.Tanh()) for _ in range(n_layers - 1)])
        self.fce = nn.Linear(n_hidden, n_output)

    def forward(self, x):
        return self.fce(self.fch(self.fcs(x)))


d, w0 = 1.0, 6.0
mu, k = 2 * d, w0 ** 2
x = torch.linspace(0, 1.5, 300).view(-1, 1)
y = oscillator(d, w0, x)
# only the first part was measured
x_data, y_data = x[0:100:10], y[0:100:10]

# %%
plain = FCN(1, 1, 32, 3)
optimizer = torch.optim.Adam(plain.parameters(), lr=3e-3)
for i in range(500):
    optimizer.zero_grad()
    loss = torch.mean((plain(x_data) - y_data) ** 2)
    loss.backward()
    optimizer.step()

# %%
x_physics = torch.linspace(0, 1.5, 30).view(-1, 1).requires_grad_(True)
model = FCN(1, 1, 32, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
losses = []
for i in range(1500):
    optimizer.zero_grad()
    loss1 = torch.mean((model(x_data) - y_data) ** 2)
    yhp = model(x_physics)
    dx = torch.autograd.grad(yhp, x_physics, torch.ones_like(yhp), create_graph=True)[0]
    dx2 = torch.autograd.grad(dx, x_physics, torch.ones_like(dx), create_graph=True)[0]
    physics = dx2 + mu * dx + k * yhp
    loss2 = 5e-4 * torch.mean(physics ** 2)
    loss = loss1 + loss2
    loss.backward()
    optimizer.step()
    losses.append((loss1.item(), loss2.item()))

# %%
with torch.no_grad():
    error_plain = (plain(x) - y).abs().max().item()
    error = (model(x) - y).abs().max().item()
print(losses[0], losses[-1], error_plain, error)
assert x_physics.grad is not None  # backward leaves one there, which nobody uses
assert error < 0.15 and error < 0.3 * error_plain
