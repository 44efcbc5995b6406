# https://github.com/rtqichen/torchdiffeq/issues/47
import torch
import torch.nn as nn

torch.manual_seed(0)


def rk4_step(func, y, h):
    k1 = func(y)
    k2 = func(y + h / 2 * k1)
    k3 = func(y + h / 2 * k2)
    k4 = func(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(func, y0, t):
    ys = [y0]
    for h in (t[1:] - t[:-1]).tolist():
        ys.append(rk4_step(func, ys[-1], h))
    return torch.stack(ys)


class OdeintAdjointMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        with torch.no_grad():
            y = odeint(func, y0, t)
        ctx.func = func
        ctx.save_for_backward(t, y, *params)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        t, y, *params = ctx.saved_tensors
        sizes = [y[0].numel(), y[0].numel()] + [p.numel() for p in params]

        def augmented(state):
            y_i, a_i = (part.view_as(y[0]) for part in state.split(sizes)[:2])
            with torch.enable_grad():
                y_i = y_i.detach().requires_grad_(True)
                f = ctx.func(y_i)
                vjps = torch.autograd.grad(f, (y_i, *params), -a_i, allow_unused=True)
            vjps = [torch.zeros_like(x) if v is None else v for v, x in zip(vjps, (y_i, *params))]
            return torch.cat([f.detach().flatten()] + [v.flatten() for v in vjps])

        a = grad_y[-1]
        of_params = torch.zeros(sum(sizes[2:]))
        for i in range(len(t) - 1, 0, -1):
            state = torch.cat([y[i].flatten(), a.flatten(), of_params])
            state = rk4_step(augmented, state, float(t[i - 1] - t[i]))
            _, a, *of_params = state.split([sizes[0], sizes[1], sum(sizes[2:])])
            a, of_params = a.view_as(y[0]) + grad_y[i - 1], of_params[0]
        grads = [g.view_as(p) for g, p in zip(of_params.split(sizes[2:]), params)]
        return (None, a, None, *grads)


def odeint_adjoint(func, y0, t):
    return OdeintAdjointMethod.apply(func, y0, t, *func.parameters())


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, y):
        return self.net(y)


# %%
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0., 1., 11)
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=5e-3)
history = []

# %%
for itr in range(60):
    batch_y0 = 2 * torch.randn(16, 2)
    batch_y = odeint(lambda y: y @ true_A, batch_y0, t)
    optimizer.zero_grad()
    pred_y = odeint_adjoint(func, batch_y0, t)
    loss = torch.mean(torch.abs(pred_y - batch_y))
    loss.backward()
    optimizer.step()
    history.append(loss.item())

# %%
of_adjoint = torch.autograd.grad(odeint_adjoint(func, batch_y0, t).pow(2).mean(), func.net[0].weight)[0]
through_steps = torch.autograd.grad(odeint(func, batch_y0, t).pow(2).mean(), func.net[0].weight)[0]
print(history[0], history[-1], (of_adjoint - through_steps).abs().max().item())
assert history[-1] < 0.5 * history[0]
assert torch.allclose(of_adjoint, through_steps, rtol=1e-2, atol=1e-3)
