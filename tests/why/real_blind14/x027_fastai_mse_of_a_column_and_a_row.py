# https://github.com/fastai/fastai/issues/1863
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def train_epoch(model, dl, opt, loss_func):
    "Simple training of `model` for 1 epoch of `dl` using optim `opt` and loss function `loss_func`."
    model.train()
    for xb, yb in dl:
        loss = loss_func(model(xb), yb)
        loss.backward()
        opt.step()
        opt.zero_grad()
    return loss


class Learner:
    def __init__(self, dl, model, loss_func, lr=3e-2):
        self.dl, self.model, self.loss_func = dl, model, loss_func
        self.opt = optim.SGD(model.parameters(), lr=lr)

    def fit(self, epochs):
        for epoch in range(epochs):
            loss = train_epoch(self.model, self.dl, self.opt, self.loss_func)
            if epoch % 10 == 0:
                print(epoch, loss.item())
        return loss


sample_size = 200
x = torch.randn(sample_size, 2)
y = 10 + 9 * x[:, 0] - 2 * x[:, 1] + 0.1 * torch.randn(sample_size)

# %%
train_dl = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
learn = Learner(train_dl, nn.Linear(2, 1), nn.MSELoss())
loss = learn.fit(40)
print(loss.item(), learn.model.weight.data, learn.model.bias.data)
