# https://discuss.pytorch.org/t/a-layer-with-weighted-sum-of-two-weights
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

# outputs = [alpha * W1 + (1 - alpha) * W2] * inputs
fc1 = nn.Linear(4, 6, bias=False)
fc2 = nn.Linear(4, 6, bias=False)
fc_sum = nn.Linear(4, 6, bias=False)
alpha = torch.tensor(0.1, requires_grad=True)
optimizer = torch.optim.SGD([alpha, *fc1.parameters(), *fc2.parameters()], lr=0.05)

# %%
losses = []
for step in range(20):
    fc_sum.weight = nn.Parameter(fc1.weight.data * alpha + fc2.weight.data * (1 - alpha))
    inputs = torch.rand([1, 4])
    outputs = fc_sum(inputs)
    loss = torch.sum(outputs ** 2)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

print(losses[0], losses[-1])
print(alpha.grad)
print(fc1.weight.grad)
