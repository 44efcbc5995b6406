# https://github.com/nanditadoloi/PINN/blob/main/solve_PDE_NN.ipynb
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.hidden = nn.Linear(2, 20)
        self.output = nn.Linear(20, 1)

    def forward(self, x, t):
        return self.output(torch.sigmoid(self.hidden(torch.cat([x, t], axis=1))))


net = Net()
mse_cost_function = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters())
before = net.hidden.weight.detach().clone()


# PDE as loss function: f = u_t - u_xx
def f(x, t, net):
    u = net(x, t)
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
    u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    return u_t - u_xx


# %%
for epoch in range(3):
    optimizer.zero_grad()
    # Loss based on boundary conditions
    x_bc, t_bc = torch.rand(20, 1), torch.zeros(20, 1)
    mse_u = mse_cost_function(net(x_bc, t_bc), torch.sin(3.14159 * x_bc))
    # Loss based on PDE
    x = torch.rand(20, 1, requires_grad=True)
    t = torch.rand(20, 1, requires_grad=True)
    mse_f = mse_cost_function(f(x, t, net), torch.zeros(20, 1))
    loss = mse_u + mse_f
    loss.backward()
    optimizer.step()
    with torch.autograd.no_grad():
        print(epoch, "Training Loss:", loss.data)
