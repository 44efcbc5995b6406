# https://github.com/pytorch/pytorch/issues/1339
import torch
import torch.nn as nn

first_model = nn.Linear(5, 4)
second_model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
x, target = torch.randn(3, 5), torch.tensor([0, 1, 1])

# %%
y_p = first_model(x)
y_p = torch.max(y_p, 1)[1]
out = second_model(nn.functional.one_hot(y_p, 4).float() if y_p.dim() == 1 else y_p)
loss = nn.functional.cross_entropy(out, target)

# %%
first_model.zero_grad()
second_model.zero_grad()

loss.backward()

for param in second_model.parameters():
    print('grad data: ', param.grad.data)

for param in first_model.parameters():
    print('grad data: ', param.grad.data)
