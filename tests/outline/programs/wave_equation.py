import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=32, depth=4):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, x, t):
        return self.out(self.body(torch.cat([x, t], dim=1)))


def derivative(y, x, create_graph=True):
    return torch.autograd.grad(
        y, x, grad_outputs=torch.ones_like(y), create_graph=create_graph, retain_graph=True
    )[0]


net = Net()
c = nn.Parameter(torch.tensor(0.5))
optimizer = torch.optim.Adam([*net.parameters(), c], lr=1e-3)
# %% the recorded cell
for _ in range(2):
    x = torch.rand(64, 1, requires_grad=True)
    t = torch.rand(64, 1, requires_grad=True)
    u = net(x, t)
    u_x, u_t = derivative(u, x), derivative(u, t)
    u_xx = derivative(u_x, x)
    u_tt = derivative(u_t, t)
    residual = u_tt - c**2 * u_xx
    x0 = torch.rand(32, 1)
    u0 = net(x0, torch.zeros_like(x0))
    loss_pde = residual.pow(2).mean()
    loss_ic = (u0 - torch.sin(torch.pi * x0)).pow(2).mean()
    loss = loss_pde + 10 * loss_ic
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
