# https://github.com/benedekrozemberczki/pytorch_geometric_temporal/issues/305
import torch
from torch.nn import GRU


class EvolveGCNO(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.initial_weight = torch.nn.Parameter(torch.randn(1, in_channels, in_channels))
        self.weight = None
        self.recurrent_layer = GRU(in_channels, in_channels, num_layers=1)

    def forward(self, X):
        W = self.initial_weight if self.weight is None else self.weight
        _, W = self.recurrent_layer(W, W)
        self.weight = W
        return X @ W.squeeze(0)


class RecurrentGCN(torch.nn.Module):
    def __init__(self, node_features):
        super().__init__()
        self.recurrent = EvolveGCNO(node_features)
        self.linear = torch.nn.Linear(node_features, 1)

    def forward(self, x):
        return self.linear(torch.relu(self.recurrent(x)))


model = RecurrentGCN(4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
train_dataset = [(torch.randn(10, 4), torch.randn(10, 1)) for _ in range(3)]

# %%
model.train()
for epoch in range(2):
    loss = 0
    for i, (x, y) in enumerate(train_dataset):
        y_pred = model(x)
        loss = loss + torch.mean((y_pred-y)**2)
    loss = loss / (i+1)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
