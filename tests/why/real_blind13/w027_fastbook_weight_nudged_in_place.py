# https://github.com/fastai/fastbook/pull/471
import torch

torch.manual_seed(0)


def make_digits(n, row):
    digits = 0.1 * torch.rand(n, 8, 8)
    digits[:, row, :] += 0.8
    return digits


train_x = torch.cat([make_digits(40, 2), make_digits(40, 5)]).view(-1, 8 * 8)
train_y = torch.tensor([1] * 40 + [0] * 40).unsqueeze(1)


def init_params(size, std=1.0):
    return (torch.randn(size) * std).requires_grad_()


def linear1(xb):
    return xb @ weights + bias


def batch_accuracy(xb, yb):
    return ((xb > 0.0).float() == yb).float().mean()


weights = init_params((8 * 8, 1))
bias = init_params(1)

preds = linear1(train_x)
print("accuracy", batch_accuracy(preds, train_y).item())

# %%
# what happens to the accuracy for a small change in one of the weights
weights[0] *= 1.0001
preds = linear1(train_x)
print("accuracy", batch_accuracy(preds, train_y).item())
