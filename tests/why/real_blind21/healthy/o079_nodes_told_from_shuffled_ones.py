# https://github.com/pyg-team/pytorch_geometric/blob/master/examples/infomax_transductive.py
import torch
import torch.nn as nn

torch.manual_seed(0)
EPS = 1e-15


class Encoder(nn.Module):
    def __init__(self, in_channels, hidden_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, hidden_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden_channels))
        self.prelu = nn.PReLU(hidden_channels)

    def forward(self, x, adj):
        x = adj @ self.lin(x) + self.bias
        x = self.prelu(x)
        return x


def corruption(x, adj):
    return x[torch.randperm(x.size(0))], adj


class DeepGraphInfomax(nn.Module):
    def __init__(self, hidden_channels, encoder, summary, corruption):
        super().__init__()
        self.encoder, self.summary, self.corruption = encoder, summary, corruption
        self.weight = nn.Parameter(torch.empty(hidden_channels, hidden_channels))
        nn.init.uniform_(self.weight, -hidden_channels ** -0.5, hidden_channels ** -0.5)

    def forward(self, *args):
        pos_z = self.encoder(*args)
        cor_args = self.corruption(*args)
        neg_z = self.encoder(*cor_args)
        summary = self.summary(pos_z, *args)
        return pos_z, neg_z, summary

    def discriminate(self, z, summary, sigmoid=True):
        value = torch.matmul(z, torch.matmul(self.weight, summary))
        return torch.sigmoid(value) if sigmoid else value

    def loss(self, pos_z, neg_z, summary):
        pos_loss = -torch.log(self.discriminate(pos_z, summary, sigmoid=True) + EPS).mean()
        neg_loss = -torch.log(1 - self.discriminate(neg_z, summary, sigmoid=True) + EPS).mean()
        return pos_loss + neg_loss


# %%
y = torch.arange(120) // 40
x = torch.eye(3)[y].repeat(1, 4) + 0.3 * torch.randn(120, 12)
adj = ((y[:, None] == y) & (torch.rand(120, 120) < 0.3)).float()
adj = ((adj + adj.t() + torch.eye(120)) > 0).float()
deg = adj.sum(1).rsqrt()
adj = deg[:, None] * adj * deg

model = DeepGraphInfomax(
    hidden_channels=32, encoder=Encoder(12, 32),
    summary=lambda z, *args, **kwargs: torch.sigmoid(z.mean(dim=0)),
    corruption=corruption)
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)


def train():
    model.train()
    optimizer.zero_grad()
    pos_z, neg_z, summary = model(x, adj)
    loss = model.loss(pos_z, neg_z, summary)
    loss.backward()
    optimizer.step()
    return loss.item()


# %%
losses = []
for epoch in range(1, 201):
    losses.append(train())
    if epoch % 50 == 0:
        print(f'Epoch: {epoch:03d}, Loss: {losses[-1]:.4f}')

model.eval()
with torch.no_grad():
    z, _, _ = model(x, adj)
    centers = torch.stack([z[::2][y[::2] == c].mean(0) for c in range(3)])
    acc = (torch.cdist(z[1::2], centers).argmin(1) == y[1::2]).float().mean().item()
print(f'Accuracy: {acc:.4f}')
assert losses[-1] < 0.6 * losses[0] and acc > 0.9
