# https://github.com/lezcano/geotorch/issues/44
import torch
import torch.nn as nn
from torch.nn.utils import parametrizations

torch.manual_seed(0)


class Rotation(nn.Module):
    """a single linear layer as the whole network, kept orthogonal"""

    def __init__(self, n=6):
        super().__init__()
        self.linear = nn.Linear(n, n, bias=False)
        parametrizations.orthogonal(self.linear, "weight")

    def forward(self, x):
        return self.linear(x)


n = 6
target_rotation, _ = torch.linalg.qr(torch.randn(n, n))
model = Rotation(n)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
criterion = nn.MSELoss()
weight_before = model.linear.weight.detach().clone()

# %%
for epoch in range(20):
    x = torch.randn(32, n)
    y = x @ target_rotation.t()
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), model.linear.weight.grad)
w = model.linear.weight
print((w @ w.t() - torch.eye(n)).abs().max().item())
