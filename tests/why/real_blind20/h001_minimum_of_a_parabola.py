# https://discuss.pytorch.org/t/how-can-i-minimize-quadratic-function/38511
import torch

torch.manual_seed(0)


def report(step, x, y):
    print(step, x.item(), y.item())


class History:
    def __init__(self):
        self.xs, self.ys = [], []

    def add(self, x, y):
        self.xs.append(x.item())
        self.ys.append(y.item())


# %%
x = torch.tensor(0., requires_grad=True)
y = (x - 2) ** 2

# optimizer = torch.optim.SGD([x], lr=0.0001)
optimizer = torch.optim.Adam([x], lr=0.01)
history = History()

# initialize
print(x, y)

# %%
for i in range(3000):
    y.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    history.add(x, y)

    if (i + 1) % 1000 == 0:
        report(i + 1, x, y)
