# https://github.com/rtqichen/torchdiffeq/issues/209
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


def odeint(func, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        dt = t1 - t0
        k1 = func(t0, ys[-1])
        k2 = func(t0 + dt / 2, ys[-1] + dt * k1 / 2)
        ys.append(ys[-1] + dt * k2)
    return torch.stack(ys)


class OdeintAdjointMethod(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        ctx.func = func
        with torch.no_grad():
            y = odeint(func, y0, t)
        ctx.save_for_backward(t, y, *params)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        t, y, *params = ctx.saved_tensors
        adj_y, adj_params = grad_y[-1], [torch.zeros_like(p) for p in params]
        for i in range(len(t) - 1, 0, -1):
            dt = t[i] - t[i - 1]
            with torch.enable_grad():
                y_i = y[i].detach().requires_grad_(True)
                f = ctx.func(t[i], y_i)
                vjp_y, *vjp_params = torch.autograd.grad(f, (y_i, *params), adj_y, allow_unused=True)
            adj_y = adj_y + dt * vjp_y + grad_y[i - 1]
            adj_params = [a if vjp is None else a + dt * vjp for a, vjp in zip(adj_params, vjp_params)]
        return None, adj_y, None, *adj_params


def odeint_adjoint(func, y0, t):
    return OdeintAdjointMethod.apply(func, y0, t, *func.parameters())


# Defining the NN model
class Vnn(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(Vnn, self).__init__()
        self.fc1 = nn.Linear(input_size, hidden_size[0], bias=False)
        self.softplus = nn.Softplus()
        self.fc2 = nn.Linear(hidden_size[0], hidden_size[1], bias=False)
        self.tanh = nn.Tanh()
        self.fc3 = nn.Linear(hidden_size[1], output_size, bias=False)

        # Weight initialization
        nn.init.xavier_uniform_(self.fc1.weight)
        nn.init.xavier_uniform_(self.fc2.weight)
        nn.init.xavier_uniform_(self.fc3.weight)

    def forward(self, x):
        out = self.softplus(self.fc1(x))
        out = self.tanh(self.fc2(out))
        return self.tanh(self.fc3(out))


class Pendulum(nn.Module):
    def __init__(self, v_nn, damping=0.5):
        super(Pendulum, self).__init__()
        self.v_nn = v_nn
        self.damping = damping

    def control(self, q, q_dot):
        v = self.v_nn(q)
        v_q = torch.autograd.grad(v.sum(), q, create_graph=True)[0]
        return -v_q - self.damping * q_dot

    def forward(self, t, y):
        q, q_dot = y[:, :1], y[:, 1:]
        u = self.control(q, q_dot)
        return torch.cat([q_dot, -torch.sin(q) + u], dim=1)


# %%
batch_size = 20
v_nn = Vnn(1, [16, 16], 1)
sys = Pendulum(v_nn)
optimizer = optim.Adam(v_nn.parameters(), lr=1e-2)
t = torch.linspace(0, 2, 20)
q_des = torch.tensor([[np.pi / 4, 0.0]], dtype=torch.float32)
adjoint = True

# %%
for itr in range(5):
    optimizer.zero_grad()
    y0 = torch.randn(batch_size, 2, requires_grad=True)
    traj = odeint_adjoint(sys, y0, t) if adjoint else odeint(sys, y0, t)
    loss = ((traj[-1] - q_des) ** 2).sum(dim=1).mean()
    loss.backward()
    optimizer.step()
    print(itr, loss.item())
