# https://github.com/ShusenTang/Dive-into-DL-PyTorch/issues/31
import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)

num_inputs, num_examples = 2, 40
true_w, true_b = [2, -3.4], 4.2
features = torch.from_numpy(np.random.normal(0, 1, (num_examples, num_inputs)))
labels = true_w[0] * features[:, 0] + true_w[1] * features[:, 1] + true_b
labels += torch.from_numpy(np.random.normal(0, 0.01, size=labels.size()))

# %%
w = torch.tensor(np.random.normal(0, 0.01, (num_inputs, 1)), dtype=torch.float32)
b = torch.zeros(1, dtype=torch.float32)
w.requires_grad_(requires_grad=True)
b.requires_grad_(requires_grad=True)


def linreg(X, w, b):
    return torch.mm(X, w) + b


def squared_loss(y_hat, y):
    return (y_hat - y.view(y_hat.size())) ** 2 / 2


def sgd(params, lr, batch_size):
    for param in params:
        param.data -= lr * param.grad / batch_size


# %%
lr, batch_size = 0.03, 10
for epoch in range(2):
    for i in range(0, num_examples, batch_size):
        X, y = features[i : i + batch_size], labels[i : i + batch_size]
        l = squared_loss(linreg(X, w, b), y).sum()
        l.backward()
        sgd([w, b], lr, batch_size)
        w.grad.data.zero_()
        b.grad.data.zero_()
