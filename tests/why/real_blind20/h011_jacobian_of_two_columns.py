# https://github.com/pytorch/pytorch/issues/114505
import torch

torch.manual_seed(0)


def expected(a):
    rows = torch.zeros(3, 2, 3, 2)
    for i in range(3):
        rows[i, 0, i, 0] = 1.0
        rows[i, 1, i, 0] = torch.sigmoid(a[i, 0])
    return rows


def func(a):
    b = torch.zeros_like(a)
    b[:, 0] = a[:, 0]
    b[:, 1] = torch.nn.Softplus()(b[:, 0])
    return b


# %%
a = torch.randn(3, 2)
print(func(a))

# %%
torch.autograd.set_detect_anomaly(False)
jacobian = torch.autograd.functional.jacobian(func, a)
print((jacobian - expected(a)).abs().max())
