# https://github.com/benedekrozemberczki/pytorch_geometric_temporal/issues/80
import torch
from torch.nn import GRU


class GCNConv(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.register_parameter('weight', None)

    def forward(self, x, weight=None):
        return x @ (self.weight if weight is None else weight)


class EvolveGCNO(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.initial_weight = torch.nn.Parameter(torch.randn(1, in_channels, in_channels))
        self.recurrent_layer = GRU(in_channels, in_channels, num_layers=1)
        self.conv_layer = GCNConv(in_channels)
        self.linear = torch.nn.Linear(in_channels, 1)

    def forward(self, X):
        _, W = self.recurrent_layer(self.initial_weight, self.initial_weight)
        self.conv_layer.weight = torch.nn.Parameter(W.squeeze(0))
        return self.linear(torch.relu(self.conv_layer(X)))


# %%
model = EvolveGCNO(4)
cost = model(torch.randn(10, 4)).pow(2).mean()
cost.backward()

# %%
for name, p in model.named_parameters():
    print(name, p.grad is None)
