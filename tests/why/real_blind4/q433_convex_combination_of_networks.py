# https://github.com/pytorch/pytorch/issues/12756
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self, sizes=(6, 8, 1)):
        super(Network, self).__init__()
        self.linear_layers = nn.ModuleList([nn.Linear(i, o) for i, o in zip(sizes[:-1], sizes[1:])])

    def forward(self, x):
        for layer in self.linear_layers[:-1]:
            x = torch.relu(layer(x))
        return self.linear_layers[-1](x)


a, b, c = Network(), Network(), Network()
optimiser = optim.SGD(list(a.parameters()) + list(b.parameters()), lr=0.01)
criterion = nn.MSELoss()
data = [(torch.randn(16, 6), torch.randn(16, 1)) for _ in range(3)]

# %%
for step, (x, target) in enumerate(data):
    weight = torch.rand(1)
    for a_param, b_param, c_param in zip(a.parameters(), b.parameters(),
                                         c.parameters()):
        c_param.data = weight * a_param + (1 - weight) * b_param
    y = c.forward(x)
    loss = criterion(y, target)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    print(step, loss.item(), [p.grad for p in a.parameters()])
