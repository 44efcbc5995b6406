# https://stackoverflow.com/questions/72786737
import torch

torch.manual_seed(0)
x = torch.cat([torch.ones(50, 1), torch.rand(50, 1)], 1)
y = x @ torch.tensor([[1.], [2.]]) + 0.05 * torch.randn(50, 1)
theta = torch.randn(2, 1, requires_grad=True)
lr = 0.1

# %%
for i in range(20):
    loss = ((x @ theta - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        theta = theta - lr * theta.grad
    print(i, loss.item())
