# https://github.com/yz93/LAVT-RIS/issues/25
import torch
import torch.nn as nn

torch.manual_seed(0)

a_1 = nn.Sequential(
    nn.Linear(10, 10, bias=False),
    nn.ReLU()
)
a_2 = nn.Sequential(
    nn.Linear(10, 10, bias=False),
    nn.Tanh()
)
b = nn.Linear(10, 10, bias=False)

fake = torch.randn((2, 10))

nn.init.zeros_(a_1[0].weight)
nn.init.zeros_(a_2[0].weight)

# %%
optimizer = torch.optim.SGD([*a_1.parameters(), *a_2.parameters(), *b.parameters()], lr=0.1)
for i in range(3):
    # gate * residual
    gate = a_2(a_1(fake))
    x = fake + gate * fake
    out = b(x)
    loss = (out ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("a_1[0] grad:", a_1[0].weight.grad)
print("a_2[0] grad:", a_2[0].weight.grad)
print("b grad:", b.weight.grad.abs().mean())
