# https://discuss.pytorch.org/t/circumventing-an-indifferentiability-problem
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

fc1 = nn.Linear(2, 2, bias=False)
inputs = torch.tensor([1.0, 1.0], requires_grad=True)

with torch.no_grad():
    fc1.weight.data = torch.Tensor([[11.0, 21.0], [12.0, 22.0]])

optimizer = optim.SGD(fc1.parameters(), lr=0.01)

# %%
for i in range(50):
    optimizer.zero_grad()
    y = fc1(inputs)
    z = torch.sign(y)
    out = sum(z)
    loss = abs(0 - out)
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print("loss:", loss.item())
