# https://github.com/tum-pbs/ConFIG/issues/10
import numpy as np
import torch
import torch.nn as nn


# conflictfree.utils and conflictfree.grad_operator, in short
def get_gradient_vector(network):
    with torch.no_grad():
        grad_vec = None
        for par in network.parameters():
            if par.grad is None:
                continue
            viewed = par.grad.data.view(-1)
            grad_vec = viewed if grad_vec is None else torch.cat((grad_vec, viewed))
        return grad_vec


def apply_gradient_vector(network, grad_vec):
    with torch.no_grad():
        start = 0
        for par in network.parameters():
            end = start + par.data.numel()
            par.grad = grad_vec[start:end].view(par.data.shape).clone()
            start = end


def ConFIG_update(grads):
    with torch.no_grad():
        grads = torch.stack(grads)
        units = nn.functional.normalize(grads, dim=1)
        best_direction = torch.linalg.lstsq(units, torch.ones(len(grads), 1)).solution.flatten()
        best_direction = nn.functional.normalize(best_direction, dim=0)
        return sum(g.dot(best_direction) for g in grads) * best_direction


class BurgersNet(nn.Module):
    def __init__(self, channel_basics=10, n_layers=3, nu_init=0.01 / np.pi):
        super().__init__()
        self.ini_net = nn.Sequential(nn.Linear(2, channel_basics), nn.Tanh())
        self.net = nn.Sequential(*[nn.Sequential(nn.Linear(channel_basics, channel_basics), nn.Tanh())
                                   for _ in range(n_layers)])
        self.out_net = nn.Sequential(nn.Linear(channel_basics, 1))
        self.nu = nn.Parameter(torch.tensor([nu_init], dtype=torch.float32))

    def forward(self, x, t):
        return self.out_net(self.net(self.ini_net(torch.stack([x, t], dim=1)))).squeeze(-1)


def boundary_loss(network, inputs):
    x_b, t_b, value_b = inputs
    return torch.mean((network(x_b, t_b) - value_b) ** 2)


def equation_loss(network, inputs):
    x, t, _ = inputs
    x.requires_grad_(True)
    t.requires_grad_(True)
    u = network(x, t)
    u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
    return (u_t + u * u_x - network.nu * u_xx).pow(2).mean()


# %%
net = BurgersNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x_ini = torch.rand(30) * 2 - 1
bounds = (x_ini, torch.zeros(30), -torch.sin(np.pi * x_ini))
internal = (torch.rand(60) * 2 - 1, torch.rand(60), None)

# %%
for epoch in range(5):
    grads = []
    for loss_fn, inputs in ((boundary_loss, bounds), (equation_loss, internal)):
        optimizer.zero_grad()
        loss = loss_fn(net, inputs)
        loss.backward()
        grads.append(get_gradient_vector(net))
    apply_gradient_vector(net, ConFIG_update(grads))
    optimizer.step()
    print(epoch, net.nu.item())
