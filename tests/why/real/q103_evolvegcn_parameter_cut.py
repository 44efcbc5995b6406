# https://github.com/benedekrozemberczki/pytorch_geometric_temporal/issues/80
import torch
from torch.nn import GRU


class GCNConv_Fixed_W(torch.nn.Module):
    def forward(self, W, x):
        return x @ W


class EvolveGCNO(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.initial_weight = torch.nn.Parameter(torch.randn(1, in_channels, in_channels))
        self.recurrent_layer = GRU(in_channels, in_channels, num_layers=1)
        self.conv_layer = GCNConv_Fixed_W()
        self.linear = torch.nn.Linear(in_channels, 1)

    def forward(self, X):
        _, W = self.recurrent_layer(self.initial_weight, self.initial_weight)
        W = torch.nn.Parameter(W)
        return self.linear(torch.relu(self.conv_layer(W.squeeze(0), X)))


# %%
model = EvolveGCNO(4)
cost = model(torch.randn(10, 4)).pow(2).mean()
cost.backward()

# %%
for name, p in model.named_parameters():
    print(name, p.grad is None)
