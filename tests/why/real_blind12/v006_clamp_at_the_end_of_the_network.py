# https://526net.com/n/x627/
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(in_features=1, out_features=1, bias=True)
        self.fc.weight.data = torch.tensor([[0.01]])
        self.fc.bias.data = torch.tensor([[0.01]])

    def forward(self, input_t):
        pred = self.fc(input_t)
        return torch.clamp(pred, min=0.1, max=0.9)


# %%
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
input_t = torch.rand(32, 1)
target = 0.3 + 0.4 * input_t

# %%
for step in range(50):
    pred = net(input_t)
    loss = F.mse_loss(pred, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), net.fc.weight.grad, net.fc.bias.grad)
