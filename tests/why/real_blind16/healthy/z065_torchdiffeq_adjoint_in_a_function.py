# https://github.com/rtqichen/torchdiffeq/issues/33
import torch
import torch.nn as nn

torch.manual_seed(0)


def rk4(func, y, t):
    """One step of the classic method from each time to the next; y may be a tuple."""
    add = lambda y, k, h: tuple(a + h * b for a, b in zip(y, k))
    out = [y]
    for t0, t1 in zip(t[:-1], t[1:]):
        h = t1 - t0
        k1 = func(t0, y)
        k2 = func(t0 + h / 2, add(y, k1, h / 2))
        k3 = func(t0 + h / 2, add(y, k2, h / 2))
        k4 = func(t1, add(y, k3, h))
        y = tuple(a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4))
        out.append(y)
    return tuple(torch.stack(parts) for parts in zip(*out))


def odeint(func, y0, t):
    return rk4(lambda s, y: (func(s, y[0]),), (y0,), t)[0]


class OdeintAdjointMethod(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, func, y0, t, *adjoint_params):
        with torch.no_grad():
            y = odeint(func, y0, t)
        ctx.func = func
        ctx.save_for_backward(t, y, *adjoint_params)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        OdeintAdjointMethod.calls += 1
        t, y, *params = ctx.saved_tensors

        def augmented_dynamics(s, state):
            with torch.enable_grad():
                yi = state[0].detach().requires_grad_(True)
                f = ctx.func(s, yi)
                vjp_y, *vjp_params = torch.autograd.grad(f, (yi, *params), -state[1])
            return (f.detach(), vjp_y, *vjp_params)

        adj_y, adj_params = grad_y[-1], tuple(torch.zeros_like(p) for p in params)
        for i in range(len(t) - 1, 0, -1):
            state = (y[i], adj_y, *adj_params)
            _, adj_y, *adj_params = (part[-1] for part in rk4(augmented_dynamics, state, t[i - 1 : i + 1].flip(0)))
            adj_y = adj_y + grad_y[i - 1]
        return (None, adj_y, None, *adj_params)


def odeint_adjoint(func, y0, t):
    return OdeintAdjointMethod.apply(func, y0, t, *func.parameters())


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0.0, 12.0, 400)
with torch.no_grad():
    true_y = odeint(lambda s, y: y**3 @ true_A, torch.tensor([[2.0, 0.0]]), t)


def get_batch(size=20, batch_time=8):
    s = torch.randint(0, len(t) - batch_time, (size,))
    return true_y[s], t[:batch_time], torch.stack([true_y[s + i] for i in range(batch_time)])


# %%
func = ODEFunc()
batch_y0, batch_t, batch_y = get_batch()
directly = torch.autograd.grad((odeint(func, batch_y0, batch_t) - batch_y).pow(2).mean(), list(func.parameters()))
by_adjoint = torch.autograd.grad((odeint_adjoint(func, batch_y0, batch_t) - batch_y).pow(2).mean(), list(func.parameters()))

# %%
optimizer = torch.optim.Adam(func.parameters(), lr=1e-2)
losses = []
for itr in range(100):
    optimizer.zero_grad()
    batch_y0, batch_t, batch_y = get_batch()
    pred_y = odeint_adjoint(func, batch_y0, batch_t)
    loss = torch.mean(torch.abs(pred_y - batch_y))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
print(losses[0], losses[-1], OdeintAdjointMethod.calls)
assert OdeintAdjointMethod.calls == 101
assert all(torch.allclose(a, b, rtol=1e-2, atol=1e-5) for a, b in zip(directly, by_adjoint))
assert sum(losses[-10:]) / 10 < 0.3 * losses[0]
