# https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4
import numpy as np
import torch
import torch.autograd as autograd
import torch.nn as nn

torch.manual_seed(1234)
np.random.seed(1234)


class Sequentialmodel(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.activation = nn.Tanh()
        self.loss_function = nn.MSELoss(reduction='mean')
        self.linears = nn.ModuleList([nn.Linear(layers[i], layers[i+1]) for i in range(len(layers)-1)])
        for i in range(len(layers)-1):
            nn.init.xavier_normal_(self.linears[i].weight.data, gain=1.0)
            nn.init.zeros_(self.linears[i].bias.data)

    def forward(self, x):
        a = x.float()
        for i in range(len(self.linears)-1):
            a = self.activation(self.linears[i](a))
        return self.linears[-1](a)

    def loss_BC(self, x, y):
        return self.loss_function(self.forward(x), y)

    def loss_PDE(self, x_to_train_f):
        a_1 = 1
        a_2 = 1
        k = 1
        x_1_f = x_to_train_f[:,[0]]
        x_2_f = x_to_train_f[:,[1]]

        g = x_to_train_f.clone()
        g.requires_grad = True
        u = self.forward(g)

        u_x = autograd.grad(u,g,torch.ones([x_to_train_f.shape[0], 1]), retain_graph=True, create_graph=True)[0]
        u_xx = autograd.grad(u_x,g,torch.ones(x_to_train_f.shape), create_graph=True)[0]

        u_xx_1 = u_xx[:,[0]]
        u_xx_2 = u_xx[:,[1]]

        q = ( -(a_1*np.pi)**2 - (a_2*np.pi)**2 + k**2 ) * torch.sin(a_1*np.pi*x_1_f) * torch.sin(a_2*np.pi*x_2_f)
        f = u_xx_1 + u_xx_2 + k**2 * u - q
        self.laplacian = u_xx_1 + u_xx_2
        return self.loss_function(f, torch.zeros_like(f))

    def loss(self, x, y, x_to_train_f):
        return self.loss_BC(x,y) + self.loss_PDE(x_to_train_f)


# %%
PINN = Sequentialmodel(np.array([2,20,20,1]))
optimizer = torch.optim.Adam(PINN.parameters(), lr=1e-3)
X_f = torch.rand(100, 2) * 2 - 1
X_u = torch.cat([torch.rand(20, 1) * 2 - 1, torch.ones(20, 1)], dim=1)
U = torch.zeros(20, 1)

for i in range(20):
    loss = PINN.loss(X_u, U, X_f)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), PINN.loss_PDE(X_f).item())
