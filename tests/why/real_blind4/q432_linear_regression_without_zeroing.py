# https://github.com/greebear/pytorch-learning/issues/1
import numpy as np
import torch
from torch.autograd import Variable

torch.manual_seed(0)
np.random.seed(0)

x_train = np.linspace(0, 10, 15, dtype=np.float32).reshape(-1, 1)
y_train = (0.3 * x_train + 1.2 + np.random.randn(15, 1) * 0.2).astype(np.float32)
x_train = torch.from_numpy(x_train)
y_train = torch.from_numpy(y_train)

# parameters w and b
w = Variable(torch.randn(1), requires_grad=True)
b = Variable(torch.zeros(1), requires_grad=True)

# linear model
x_train = Variable(x_train)
y_train = Variable(y_train)


def linear_model(x):
    return x * w + b


def get_loss(y_, y):
    return torch.mean((y_ - y) ** 2)


# %%
learning_rate = 1e-2
losses = []
for e in range(80):
    y_ = linear_model(x_train)
    loss = get_loss(y_, y_train)
    loss.backward()
    w.data = w.data - learning_rate * w.grad.data
    b.data = b.data - learning_rate * b.grad.data
    losses.append(loss.item())
    if (e + 1) % 10 == 0:
        print('epoch: {}, loss: {}'.format(e, loss.item()))
