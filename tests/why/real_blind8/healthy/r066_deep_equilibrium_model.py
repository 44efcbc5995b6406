# http://implicit-layers-tutorial.org/deep_equilibrium_models/
import torch
import torch.nn as nn
import torch.autograd as autograd

torch.manual_seed(0)


class Cell(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        nn.init.normal_(self.linear.weight, std=0.05)

    def forward(self, z, x):
        return torch.tanh(self.linear(z) + x)


def forward_iteration(f, x0, max_iter=50, tol=1e-5):
    f0 = f(x0)
    for k in range(max_iter):
        x = f0
        f0 = f(x)
        if (f0 - x).norm().item() / (1e-5 + f0.norm().item()) < tol:
            break
    return f0


class DEQFixedPoint(nn.Module):
    def __init__(self, f, solver):
        super().__init__()
        self.f = f
        self.solver = solver

    def forward(self, x):
        # compute forward pass and re-engage autograd tape
        with torch.no_grad():
            z = self.solver(lambda z: self.f(z, x), torch.zeros_like(x))
        z = self.f(z, x)

        # set up Jacobian vector product (without additional forward calls)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g = self.solver(lambda y: autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad)
            return g

        z.register_hook(backward_hook)
        return z


# %%
model = nn.Sequential(nn.Linear(6, 12), DEQFixedPoint(Cell(12), forward_iteration), nn.Linear(12, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for i in range(3):
    X, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    loss = nn.CrossEntropyLoss()(model(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
