# https://discuss.pytorch.org/t/implement-models-that-include-gradients/106523/4
import torch
import torch.nn as nn

torch.manual_seed(0)


class F(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x, h):
        return self.net(torch.cat([x, h], dim=1))


def RNN_step(F, x, h_prev):
    h_prev.requires_grad = True
    y = F(x, h_prev)
    y.sum().backward(create_graph=True)  # summing over the batch dimension
    h = h_prev.grad
    return y, h


def run_sequence(F, x):
    h = torch.zeros(x.shape[0], 1)
    ys = []
    for t in range(x.shape[1]):
        y, h = RNN_step(F, x[:, t:t + 1], h)
        ys.append(y)
    return torch.cat(ys, dim=1)


def batches(n=20, batch=32, length=6):
    for _ in range(n):
        x = torch.randn(batch, length)
        yield x, torch.tanh(torch.cumsum(x, dim=1))


model = F()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()

# %%
for i, (x, target) in enumerate(batches()):
    y = run_sequence(model, x)
    loss = loss_fn(y, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
