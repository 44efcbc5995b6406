# https://discuss.pytorch.org/t/how-to-solve-the-loss-becoming-nan-due-to-using-torch-log
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Linear(12, 8)
        self.back = nn.Linear(8, 3)

    def forward(self, x):
        t = self.front(x)
        t = torch.log(t)
        return self.back(t)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
for step in range(3):
    x, y = torch.rand(16, 12), torch.randint(3, (16,))
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
