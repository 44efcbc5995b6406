# https://stackoverflow.com/questions/65532022
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


def rotation(theta):
    """The 2-d rotation matrix of an angle."""
    matrix = np.array([[np.cos(theta.item()), -np.sin(theta.item())],
                       [np.sin(theta.item()), np.cos(theta.item())]])
    return torch.tensor(matrix, dtype=torch.float32, requires_grad=True)


points = torch.randn(30, 2)
true_angle = 0.7
target = points @ torch.tensor([[np.cos(true_angle), -np.sin(true_angle)],
                                [np.sin(true_angle), np.cos(true_angle)]], dtype=torch.float32).T

# %%
theta = torch.tensor(0.1, requires_grad=True)
optimizer = torch.optim.SGD([theta], lr=0.1)
loss_fn = nn.MSELoss()

for step in range(10):
    optimizer.zero_grad()
    R = rotation(theta)
    loss = loss_fn(points @ R.T, target)
    loss.backward()
    optimizer.step()
    print(step, loss.item(), theta.item(), theta.grad)
