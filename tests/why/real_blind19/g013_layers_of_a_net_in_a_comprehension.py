# https://github.com/pytorch/pytorch/issues/59925
import itertools

import torch

torch.manual_seed(0)


class Net(torch.nn.Module):

    def __init__(self):
        super(Net, self).__init__()
        self.layers = [torch.nn.Linear(4, 4) for i in range(2)]

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class Readout(torch.nn.Module):

    def __init__(self):
        super(Readout, self).__init__()
        self.out = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.out(x)


# %%
net = Net()
readout = Readout()
print(list(net.parameters()))
optimizer = torch.optim.Adam(itertools.chain(net.parameters(), readout.parameters()), lr=0.01)

# %%
x = torch.randn(128, 4)
y = (x[:, :1] * x[:, 1:2]).sin()
start = net.layers[0].weight.detach().clone()

for step in range(200):
    loss = torch.nn.functional.mse_loss(readout(net(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())

# %%
print("first layer moved by", (net.layers[0].weight - start).abs().max().item())
