# https://discuss.pytorch.org/t/custom-connections-in-neural-network-layers/3027
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MaskedLinear(nn.Module):
    """mask is the adjacency matrix of the graph containing the two layers"""

    def __init__(self, in_features, out_features, mask):
        super(MaskedLinear, self).__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.mask = mask
        self.linear.weight.data *= mask  # to zero it out first

    def forward(self, x):
        return self.linear(x)


class Net(nn.Module):
    def __init__(self, mask):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(10, 16)
        self.sparse = MaskedLinear(16, 8, mask)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.sparse(x))
        return self.out(x)


mask = (torch.rand(8, 16) < 0.3).float()
net = Net(mask)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

# %%
x = torch.randn(128, 10)
y = x[:, :3].sum(dim=1, keepdim=True)

for epoch in range(100):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()

print("loss", loss.item())
print("connections that should not be there:", (net.sparse.linear.weight[mask == 0] != 0).sum().item())
