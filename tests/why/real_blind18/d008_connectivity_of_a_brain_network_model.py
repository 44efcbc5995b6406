# https://github.com/rtqichen/torchdiffeq/issues/178
import torch
import torch.nn as nn

torch.manual_seed(0)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(func, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        ys.append(rk4_step(func, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


class OdeintAdjointMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *adjoint_params):
        ctx.func = func
        with torch.no_grad():
            y = odeint(func, y0, t)
        ctx.save_for_backward(t, y, *adjoint_params)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        t, y, *adjoint_params = ctx.saved_tensors
        adj_y = grad_y[-1]
        adj_params = [torch.zeros_like(p) for p in adjoint_params]
        for i in range(len(t) - 1, 0, -1):
            dt = t[i] - t[i - 1]
            with torch.enable_grad():
                y_i = y[i].detach().requires_grad_(True)
                f = ctx.func(t[i], y_i)
                vjp_y, *vjp_params = torch.autograd.grad(f, (y_i, *adjoint_params), adj_y, allow_unused=True)
            adj_y = adj_y + dt * vjp_y + grad_y[i - 1]
            for a, vjp in zip(adj_params, vjp_params):
                if vjp is not None:
                    a += dt * vjp
        return None, adj_y, None, *adj_params


def odeint_adjoint(func, y0, t, adjoint_params=None):
    adjoint_params = tuple(func.parameters() if adjoint_params is None else adjoint_params)
    return OdeintAdjointMethod.apply(func, y0, t, *adjoint_params)


class BNM(nn.Module):
    def __init__(self, w):
        super(BNM, self).__init__()
        self.w = nn.Parameter(w)

    def forward(self, t, x):
        return -x + torch.matmul(torch.tanh(x), self.w)


class Model(nn.Module):
    def __init__(self, ode_func, n_in=4, n_regions=10):
        super(Model, self).__init__()
        self.lstm = nn.LSTM(n_in, n_regions, batch_first=True)
        self.SC = nn.Parameter(0.3 * torch.randn(n_regions, n_regions), requires_grad=True)
        self.ode_func = ode_func
        self.readout = nn.Linear(n_regions, 3)

    def forward(self, x):
        _, (x0, _) = self.lstm(x)
        out = odeint_adjoint(self.ode_func, x0[0], t=torch.linspace(0, 0.72, 10), adjoint_params=self.SC)
        return self.readout(out)


# %%
ode_func = BNM(0.3 * torch.randn(10, 10))
model = Model(ode_func)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
signals = torch.randn(16, 20, 4)
bold = torch.cumsum(torch.randn(10, 16, 3), dim=0) / 3

# %%
for epoch in range(15):
    optimizer.zero_grad()
    out = model(signals)
    loss = criterion(out, bold)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), model.SC.grad.norm().item())
