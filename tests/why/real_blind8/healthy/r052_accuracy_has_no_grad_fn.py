# https://forums.fast.ai/t/why-does-the-nll-has-grad-fn-while-accuracy-doesnt/50891
import torch
from torch import nn

torch.manual_seed(0)
x_train, y_train = torch.randn(64, 20), torch.randint(0, 5, (64,))
n, m = x_train.shape
c = int(y_train.max() + 1)
nh = 50


class Model(nn.Module):
    def __init__(self, n_in, nh, n_out):
        super().__init__()
        self.layers = [nn.Linear(n_in, nh), nn.ReLU(), nn.Linear(nh, n_out)]

    def __call__(self, x):
        for l in self.layers: x = l(x)
        return x


def logsumexp(x):
    m = x.max(-1)[0]
    return m + (x - m[:,None]).exp().sum(-1).log()


def log_softmax(x): return x - logsumexp(x)[:, None]
def nll(inp, targ): return -inp[range(targ.shape[0]), targ].mean()
def cross_entropy(inp, targ): return nll(log_softmax(inp), targ)
def accuracy(out, yb):
    return (torch.argmax(out, dim=-1) == yb).float().mean()


# %%
model = Model(m, nh, c)
lr = 0.5
for epoch in range(5):
    pred = model(x_train)
    loss = cross_entropy(pred, y_train)
    loss.backward()
    with torch.no_grad():
        for l in model.layers:
            if hasattr(l, 'weight'):
                l.weight -= l.weight.grad * lr
                l.bias   -= l.bias.grad   * lr
                l.weight.grad.zero_()
                l.bias  .grad.zero_()

# %%
pred = model(x_train)
loss = cross_entropy(pred, y_train)
print(loss.grad_fn, accuracy(pred, y_train).grad_fn)
loss.backward()
