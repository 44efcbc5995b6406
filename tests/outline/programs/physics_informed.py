from collections import OrderedDict

import torch
import torch.nn as nn

torch.manual_seed(0)


class DNN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.depth = len(layers) - 1
        layer_list = []
        for i in range(self.depth - 1):
            layer_list.append((f"layer_{i}", nn.Linear(layers[i], layers[i + 1])))
            layer_list.append((f"activation_{i}", nn.Tanh()))
        layer_list.append((f"layer_{self.depth - 1}", nn.Linear(layers[-2], layers[-1])))
        self.layers = nn.Sequential(OrderedDict(layer_list))

    def forward(self, x):
        return self.layers(x)


class PhysicsInformedNN:
    def __init__(self, X_u, u, X_f, layers, nu):
        self.x_u = X_u[:, 0:1].clone().requires_grad_(True)
        self.t_u = X_u[:, 1:2].clone().requires_grad_(True)
        self.x_f = X_f[:, 0:1].clone().requires_grad_(True)
        self.t_f = X_f[:, 1:2].clone().requires_grad_(True)
        self.u = u
        self.lambda_1 = nn.Parameter(torch.tensor([0.0]))
        self.nu = nu
        self.dnn = DNN(layers)
        self.dnn.register_parameter("lambda_1", self.lambda_1)
        self.optimizer = torch.optim.Adam(self.dnn.parameters(), lr=1e-3)
        self.iter = 0

    def net_u(self, x, t):
        return self.dnn(torch.cat([x, t], dim=1))

    def net_f(self, x, t):
        u = self.net_u(x, t)
        u_t = torch.autograd.grad(
            u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
        )[0]
        u_x = torch.autograd.grad(
            u, x, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
        )[0]
        u_xx = torch.autograd.grad(
            u_x, x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True
        )[0]
        return u_t + self.lambda_1 * u * u_x - self.nu * u_xx

    def loss_func(self):
        self.optimizer.zero_grad()
        u_pred = self.net_u(self.x_u, self.t_u)
        f_pred = self.net_f(self.x_f, self.t_f)
        loss_u = torch.mean((self.u - u_pred) ** 2)
        loss_f = torch.mean(f_pred**2)
        loss = loss_u + loss_f
        loss.backward()
        self.iter += 1
        return loss

    def train(self, n):
        self.dnn.train()
        for _ in range(n):
            self.optimizer.step(self.loss_func)


X_u, X_f = torch.rand(20, 2), torch.rand(50, 2)
pinn = PhysicsInformedNN(X_u, torch.sin(X_u[:, :1]), X_f, [2, 16, 16, 16, 1], 0.01)
# %% the recorded cell
pinn.train(2)
