# https://github.com/greydanus/hamiltonian-nn/blob/master/hnn.py
import torch

torch.manual_seed(0)


class MLP(torch.nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super(MLP, self).__init__()
        self.linear1 = torch.nn.Linear(input_dim, hidden_dim)
        self.linear2 = torch.nn.Linear(hidden_dim, hidden_dim)
        self.linear3 = torch.nn.Linear(hidden_dim, output_dim, bias=None)
        for l in [self.linear1, self.linear2, self.linear3]:
            torch.nn.init.orthogonal_(l.weight)  # use a principled initialization

    def forward(self, x):
        h = torch.tanh(self.linear1(x))
        h = torch.tanh(self.linear2(h))
        return self.linear3(h)


class HNN(torch.nn.Module):
    '''Learn arbitrary vector fields that are sums of conservative and solenoidal fields'''
    def __init__(self, input_dim, differentiable_model, field_type='solenoidal'):
        super(HNN, self).__init__()
        self.differentiable_model = differentiable_model
        M = torch.eye(input_dim)
        self.M = torch.cat([M[input_dim // 2:], -M[:input_dim // 2]])
        self.field_type = field_type

    def forward(self, x):
        y = self.differentiable_model(x)
        assert y.dim() == 2 and y.shape[1] == 2, "Output tensor should have shape [batch_size, 2]"
        return y.split(1, 1)

    def time_derivative(self, x, t=None):
        F1, F2 = self.forward(x)  # traditional forward pass

        conservative_field = torch.zeros_like(x)  # start out with both components set to 0
        solenoidal_field = torch.zeros_like(x)

        if self.field_type != 'solenoidal':
            dF1 = torch.autograd.grad(F1.sum(), x, create_graph=True)[0]
            conservative_field = dF1 @ torch.eye(*self.M.shape)

        if self.field_type != 'conservative':
            dF2 = torch.autograd.grad(F2.sum(), x, create_graph=True)[0]
            solenoidal_field = dF2 @ self.M.t()

        return conservative_field + solenoidal_field


# %%
# a mass on a spring: H = q^2 / 2 + p^2 / 2, dq/dt = p, dp/dt = -q
radius, angle = torch.rand(200, 1) * 0.9 + 0.1, torch.rand(200, 1) * 6.283
x = torch.cat([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1).requires_grad_()
dxdt = torch.stack([x.detach()[:, 1], -x.detach()[:, 0]], dim=1) + 0.02 * torch.randn(200, 2)

nn_model = MLP(2, 64, 2)
model = HNN(2, differentiable_model=nn_model)
optim = torch.optim.Adam(model.parameters(), 3e-3)
L2_loss = torch.nn.MSELoss()

# %%
losses = []
for step in range(300):
    # train step
    dxdt_hat = model.time_derivative(x)
    loss = L2_loss(dxdt, dxdt_hat)
    loss.backward()
    optim.step()
    optim.zero_grad()
    losses.append(loss.item())
    if step % 100 == 0:
        print("step {}, train_loss {:.4e}".format(step, loss.item()))

# %%
test = torch.tensor([[0.5, 0.0], [0.0, -0.5]], requires_grad=True)
error = (model.time_derivative(test) - torch.tensor([[0.0, -0.5], [-0.5, 0.0]])).abs().max().item()
print(losses[-1], error)
assert losses[-1] < 0.05 * losses[0] and error < 0.15
