# https://discuss.pytorch.org/t/correctly-generating-multivariate-gaussian-random-variable/166050
import torch
import torch.nn as nn

torch.manual_seed(0)
T, n, dim = 10, 64, 3


class Net(nn.Module):
    def __init__(self, in_dim=4, hidden=32):
        super(Net, self).__init__()
        self.body = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, dim)
        self.logvar = nn.Linear(hidden, dim)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), torch.exp(self.logvar(h))


def draw(means, variances):
    samples = torch.zeros(T, n, dim)
    for t in range(T):
        samples[t, ...] = torch.normal(mean=means, std=torch.sqrt(variances))  # method 1
    return samples


# %%
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.MSELoss()
inputs = torch.randn(n, 4)
targets = inputs @ torch.randn(4, dim)

# %%
for epoch in range(30):
    optimizer.zero_grad()
    means, variances = net(inputs)
    samples = draw(means, variances)
    loss = criterion(samples, targets.expand(T, n, dim))
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
print(net.mean.weight.grad.abs().max())
