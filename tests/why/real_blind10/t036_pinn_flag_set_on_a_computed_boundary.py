# https://github.com/erfanhamdi/pinn-torch/issues/1
import numpy
import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, in_features=2, out_features=2, hidden=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_features, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, out_features))

    def forward(self, x):
        return self.net(x)


def derivative(dy: torch.Tensor, x: torch.Tensor, order: int = 1):
    for i in range(order):
        dy = grad(dy, x, grad_outputs=torch.ones_like(dy), create_graph=True, retain_graph=True)[0]
    return dy


def mse_f(model, x_f, t_f):
    h = model(torch.stack((x_f, t_f), axis = 1))
    u, v = h[:, 0], h[:, 1]
    return (derivative(u, t_f) + 0.5 * derivative(v, x_f, 2)).pow(2).mean()


def mse_b(model, t_b):
    # the lower boundary moves with the time
    x_b_lower = 2*numpy.pi*torch.exp(-t_b)  # as in the equation
    x_b_lower.requires_grad = True
    # evaluating the function on the lower boundary
    h_b_lower = model(torch.stack((x_b_lower, t_b), axis = 1))
    h_u_b_lower = h_b_lower[:, 0]
    h_v_b_lower = h_b_lower[:, 1]
    # Neumann: the derivative in x is zero there
    h_u_b_lower_x = derivative(h_u_b_lower, x_b_lower, 1)
    h_v_b_lower_x = derivative(h_v_b_lower, x_b_lower, 1)

    mse_newman = h_u_b_lower_x**2 + h_v_b_lower_x**2
    return mse_newman.mean()


# %%
model = MLP()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x_f, t_f = (torch.rand(50) * 5).requires_grad_(), torch.rand(50, requires_grad=True)
t_b = torch.rand(20, requires_grad=True)

# %%
for epoch in range(5):
    optimizer.zero_grad()
    loss = mse_f(model, x_f, t_f) + mse_b(model, t_b)
    loss.backward()
    optimizer.step()
