# https://discuss.pytorch.org/t/simple-linear-regression-in-pytorch
import torch
from torch.autograd import Variable

torch.manual_seed(0)

# y = weights * x + bias, the first column of x is all ones
x = Variable(torch.Tensor([[1, 2.0],
                           [1, 3.0],
                           [1, 7.0],
                           [1, 9.0]]))
y = Variable(torch.Tensor([2.0, 3.0, 7.0, 9.0]))  # true labels

weights = Variable(torch.randn(2, 1), requires_grad=True)
bias = Variable(torch.randn(1), requires_grad=True)

# %%
optimizer = torch.optim.Adam([weights, bias], lr=0.01)

# actual training
loss_history = []
for i in range(2500):
    out = x.mm(weights).add_(bias)
    loss = torch.mean((out - y)**2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss_history.append(loss.item())

print("final loss", loss_history[-1])
print("weights", weights.data.view(-1).tolist(), "expected 0 and 1")
print("bias", bias.item(), "expected 0")
