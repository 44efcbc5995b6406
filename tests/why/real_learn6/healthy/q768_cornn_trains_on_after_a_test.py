# https://github.com/tk-rusch/coRNN/issues/1
import torch
from torch import nn, optim

torch.manual_seed(0)


class coRNNCell(nn.Module):
    def __init__(self, n_inp, n_hid, dt, gamma, epsilon):
        super(coRNNCell, self).__init__()
        self.dt, self.gamma, self.epsilon = dt, gamma, epsilon
        self.i2h = nn.Linear(n_inp + n_hid + n_hid, n_hid)

    def forward(self, x, hy, hz):
        hz = hz + self.dt * (torch.tanh(self.i2h(torch.cat((x, hz, hy), 1))) - self.gamma * hy - self.epsilon * hz)
        hy = hy + self.dt * hz
        return hy, hz


class coRNN(nn.Module):
    def __init__(self, n_inp, n_hid, n_out, dt=0.1, gamma=1.0, epsilon=1.0):
        super(coRNN, self).__init__()
        self.n_hid = n_hid
        self.cell = coRNNCell(n_inp, n_hid, dt, gamma, epsilon)
        self.readout = nn.Linear(n_hid, n_out)

    def forward(self, x):
        hy, hz = torch.zeros(x.size(1), self.n_hid), torch.zeros(x.size(1), self.n_hid)
        for t in range(x.size(0)):
            hy, hz = self.cell(x[t], hy, hz)
        return self.readout(hy)


# %%
model = coRNN(2, 8, 1)
objective = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=2e-2)
w_before = model.readout.weight.detach().clone()


def test():
    model.eval()
    with torch.no_grad():
        out = model(torch.rand(6, 4, 2))
        return objective(out.squeeze(1), torch.rand(4)).item()


# %%
for i in range(6):
    x, y = torch.rand(6, 8, 2), torch.rand(8)
    optimizer.zero_grad()
    out = model(x)
    loss = objective(out.squeeze(1), y)
    loss.backward()
    optimizer.step()
    if i % 2 == 0 and i != 0:
        print(test())
