# https://github.com/nanditadoloi/PINN/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.hidden_layer1 = nn.Linear(2, 8)
        self.hidden_layer2 = nn.Linear(8, 8)
        self.output_layer = nn.Linear(8, 1)

    def forward(self, x, t):
        inputs = torch.cat([x, t], axis=1)
        layer1_out = torch.sigmoid(self.hidden_layer1(inputs))
        layer2_out = torch.sigmoid(self.hidden_layer2(layer1_out))
        return self.output_layer(layer2_out)


net = Net()
mse_cost_function = torch.nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters())


# PDE as loss function. Thus would use the network which we call as u_theta
def f(x, t, net):
    u = net(x, t)  # the dependent variable u is given by the network based on independent variables x, t
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    pde = u_x - 2 * u_t - u
    return pde


# %%
x_bc, t_bc = torch.rand(50, 1) * 2, torch.zeros(50, 1)
u_bc = 6 * torch.exp(-3 * x_bc)

for epoch in range(5):
    optimizer.zero_grad()
    # Loss based on boundary conditions
    net_bc_out = net(x_bc, t_bc)
    mse_u = mse_cost_function(net_bc_out, u_bc)
    # Loss based on PDE
    x_collocation = (torch.rand(50, 1) * 2).requires_grad_(True)
    t_collocation = torch.rand(50, 1).requires_grad_(True)
    f_out = f(x_collocation, t_collocation, net)
    mse_f = mse_cost_function(f_out, torch.zeros(50, 1))
    loss = mse_u + mse_f
    loss.backward()
    optimizer.step()
    print(epoch, "Traning Loss:", loss.item())

# %%
# the derivatives of each u by its own x, one by one
u = net(x_collocation, t_collocation)
u_x = torch.autograd.grad(u.sum(), x_collocation, retain_graph=True)[0]
one_by_one = torch.stack([torch.autograd.grad(u[i, 0], x_collocation, retain_graph=True)[0][i] for i in range(50)])
print((u_x - one_by_one).abs().max())
