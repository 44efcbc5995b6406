# https://github.com/pytorch/pytorch/issues/20089
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Gpu(nn.Module):
    def __init__(self):
        super(Gpu, self).__init__()
        self.w = nn.Parameter(torch.ones(10)).to(torch.float64)
        self.conv = nn.Conv1d(10, 10, 3, padding=1).to(torch.float64)
        self.fc = nn.Linear(10, 2).to(torch.float64)

    def forward(self, x):
        x = F.relu(self.conv(x)) * self.w.view(1, -1, 1)
        return self.fc(x.mean(-1))


# %%
gpu = Gpu()
optimizer = torch.optim.SGD(gpu.parameters(), lr=0.1, momentum=0.9)
w_before = gpu.w.detach().clone()
print([name for name, _ in gpu.named_parameters()])

for i in range(3):
    x, target = torch.randn(8, 10, 12, dtype=torch.float64), torch.randint(2, (8,))
    optimizer.zero_grad()
    loss = F.cross_entropy(gpu(x), target)
    loss.backward()
    optimizer.step()
    print(i, loss.item())
print(gpu.w)
