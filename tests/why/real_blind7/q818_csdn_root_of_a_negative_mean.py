# https://blog.csdn.net/qq_38507163/article/details/111181447
import torch
import torch.nn as nn

torch.manual_seed(0)


class GeMPool(nn.Module):
    def __init__(self, p=3.):
        super().__init__()
        self.p = p

    def forward(self, x):
        x = x.flatten(2)
        p = self.p
        return (torch.mean(x ** p, dim=-1) + 1e-12) ** (1 / p)


# %%
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), GeMPool(), nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

# %%
x, target = torch.rand(8, 3, 10, 10), torch.randint(0, 4, (8,))
loss = nn.functional.cross_entropy(model(x), target)
optimizer.zero_grad()
loss.backward()
print(loss)
optimizer.step()
