# https://github.com/pytorch/pytorch/issues/666
import torch
import torch.nn as nn

torch.manual_seed(0)


class net(nn.Module):
    def __init__(self, num_layers):
        super(net, self).__init__()

        self.layer = nn.Linear(4, 4)
        self.list_of_layers = [nn.Linear(4, 4) for i in range(num_layers)]
        self.last = nn.Linear(4, 1)

    def forward(self, x):
        x = torch.tanh(self.layer(x))
        for layer in self.list_of_layers:
            x = torch.tanh(layer(x))
        return self.last(x)


# %%
n = net(4)
print(n)
optimizer = torch.optim.SGD(n.parameters(), lr=0.05)
at_first = [layer.weight.detach().clone() for layer in n.list_of_layers]
x = torch.randn(100, 4)
y = x[:, :1] * x[:, 1:2]
for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(n(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
