# https://github.com/yunjey/pytorch-tutorial/pull/128
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


def fit_one_step(model, x, y, lr=0.01):
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    pred = model(x)
    loss = criterion(pred, y)
    print('loss: ', loss.item())
    loss.backward()
    optimizer.step()
    pred = model(x)
    loss = criterion(pred, y)
    print('loss after 1 step optimization: ', loss.item())
    return loss


# ================================================================== #
#                     1. Basic autograd example 1                    #
# ================================================================== #
# %%
x_data = np.array([[1, 2], [3, 4]])
print(torch.from_numpy(x_data), torch.from_numpy(x_data).numpy())

# %%
# Create tensors.
x = torch.tensor(1, requires_grad=True)
w = torch.tensor(2, requires_grad=True)
b = torch.tensor(3, requires_grad=True)

# Build a computational graph.
y = w * x + b

# Compute gradients.
y.backward()

# Print out the gradients.
print(x.grad)
print(w.grad)
print(b.grad)

# Create tensors of shape (10, 3) and (10, 2), and a fully connected layer.
x = torch.randn(10, 3)
y = torch.randn(10, 2)
linear = nn.Linear(3, 2)
fit_one_step(linear, x, y)
print('dL/dw: ', linear.weight.grad)
