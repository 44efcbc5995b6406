# https://joneswong.github.io/daily/python/pytorch/2022/03/16/pytorch-mistakes-people-ignored.html
import copy

import torch


class LogisticRegression(torch.nn.Module):
    def __init__(self, in_channels, class_num):
        super(LogisticRegression, self).__init__()
        self.fc = torch.nn.Linear(in_channels, class_num)

    def forward(self, x):
        return self.fc(x)


torch.manual_seed(0)
x, y = torch.randn(16, 2), torch.randint(0, 2, (16,))

# %%
m = LogisticRegression(2, 2)
a = m.state_dict()
print(m.state_dict())
print(a)

# %%
loss = torch.nn.functional.cross_entropy(m(x), y)
loss.backward()
for v in m.parameters():
    v.data -= 0.5 * v.grad.data
print("state_dict() is shallow copy:")
print(m.state_dict())
print(a)
