# https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


def gradients(outputs, inputs):
    return torch.autograd.grad(outputs, inputs, grad_outputs=torch.ones_like(outputs), create_graph=True)


class PINN(nn.Module):
    def __init__(self, layers=(2, 20, 20, 20, 1)):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(i, o) for i, o in zip(layers[:-1], layers[1:])])
        for linear in self.linears:
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.loss_function = nn.MSELoss()

    def forward(self, x):
        a = x
        for linear in self.linears[:-1]:
            a = torch.tanh(linear(a))
        return self.linears[-1](a)

    def loss_boundary(self, x_bc, u_bc):
        return self.loss_function(self.forward(x_bc), u_bc)

    def loss_internal(self, x_train):
        g = x_train.clone()
        g.requires_grad = True
        u = self.forward(g)
        u_g = gradients(u, g)[0]
        u_x, u_t = u_g[:, [0]], u_g[:, [1]]
        D = 1.1*10**(-9)*(self.forward(g))**1.2

        u_xx = gradients(D, g)[0]
        u_xx = u_xx[:, [0]]
        pde = u_t - u_xx
        loss_pde = pde.pow(2).mean()
        return loss_pde

    def loss(self, x_train, x_bc, u_bc):
        return self.loss_internal(x_train) + self.loss_boundary(x_bc, u_bc)


# %%
x_train = torch.rand(200, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])
x_initial = torch.stack([torch.linspace(-1, 1, 50), torch.zeros(50)], dim=1)
x_wall = torch.cat([torch.tensor([[-1.0, t], [1.0, t]]) for t in torch.linspace(0, 1, 25)])
x_bc = torch.cat([x_initial, x_wall])
u_bc = torch.cat([torch.cos(torch.pi / 2 * x_initial[:, :1]), torch.zeros(50, 1)])

model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
history = []
for it in range(50):
    optimizer.zero_grad()
    loss = model.loss(x_train, x_bc, u_bc)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if it % 10 == 0:
        print(it, 'loss', loss.item(), 'boundary', model.loss_boundary(x_bc, u_bc).item())
