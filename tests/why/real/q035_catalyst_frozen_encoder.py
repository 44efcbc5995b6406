# https://github.com/catalyst-team/catalyst/pull/81
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, frozen=False):
        super().__init__()
        self.encoder_layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)
        if frozen:
            for module in self.encoder_layers:
                module.requires_grad = False

    def forward(self, x):
        return self.head(self.encoder_layers(x))


# %%
net = Net(frozen=True)
loss = net(torch.randn(3, 4)).sum()
loss.backward()

# %%
print([p.grad is None for p in net.encoder_layers.parameters()])
