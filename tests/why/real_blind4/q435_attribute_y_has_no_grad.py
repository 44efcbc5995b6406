# https://github.com/pytorch/pytorch/issues/1760
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc0 = nn.Linear(3, 5)
        self.fc1 = nn.Linear(5, 1)

    def forward(self, x):
        x = torch.cat(x)
        self.y = x  # Variable(x.data, requires_grad=x.requires_grad)
        x = torch.tanh(self.fc0(self.y))
        return self.fc1(x)


# %%
model = Net()
x = [Variable(torch.Tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), requires_grad=True) for i in range(3)]
output = model(x)
output.mean().backward()
print(model.y.grad)
print(x[0].grad)
