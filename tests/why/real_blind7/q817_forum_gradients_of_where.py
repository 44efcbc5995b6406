# https://discuss.pytorch.org/t/gradients-of-torch-where/26835
import torch

eps = 1e-4


def sinc_taylor(theta):
    a = torch.sin(theta) / theta
    taylor = 1 - theta ** 2 / 6
    return torch.where(theta.abs() < eps, taylor, a)


# %%
theta = torch.tensor([0.0, 0.5, 1.0, 2.0], requires_grad=True)
loss = (sinc_taylor(theta) ** 2).sum()
loss.backward()
print(loss, theta.grad)
