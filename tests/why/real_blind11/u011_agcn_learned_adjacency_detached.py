# https://github.com/queenie88/A-GCN/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.matmul(adj, torch.matmul(x, self.weight))


class AGCN(nn.Module):
    def __init__(self, dim=16, hidden=32, num_labels=5):
        super().__init__()
        self.W_phi = nn.Linear(dim, hidden, bias=False)
        self.W_theta = nn.Linear(dim, hidden, bias=False)
        self.gc1 = GraphConvolution(dim, hidden)
        self.gc2 = GraphConvolution(hidden, hidden)
        self.fc = nn.Linear(hidden, num_labels)

    def forward(self, x):
        phi, theta = self.W_phi(x), self.W_theta(x)
        scores = torch.matmul(phi, theta.transpose(1, 2))
        adj = F.softmax(scores, dim=-1).detach()
        h = F.relu(self.gc1(x, adj))
        h = F.relu(self.gc2(h, adj))
        return self.fc(h.mean(1))


# %%
model = AGCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, label = torch.randn(32, 7, 16), torch.randint(0, 5, (32,))

# %%
for epoch in range(5):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), label)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

for name, p in model.named_parameters():
    print(name, None if p.grad is None else p.grad.norm().item())
