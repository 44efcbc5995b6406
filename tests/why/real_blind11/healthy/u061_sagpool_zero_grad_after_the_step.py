# https://github.com/inyeoplee77/SAGPool/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, num_features=8, nhid=16, num_classes=2):
        super(Net, self).__init__()
        self.conv1 = nn.Linear(num_features, nhid)
        self.pool1 = nn.Linear(nhid, 1)
        self.lin1 = nn.Linear(nhid, num_classes)

    def forward(self, x, adj):
        h = F.relu(self.conv1(adj @ x))
        score = torch.tanh(self.pool1(adj @ h)).squeeze(-1)
        top, idx = score.topk(5, dim=1)
        h = torch.gather(h, 1, idx.unsqueeze(-1).expand(-1, -1, h.size(-1))) * top.unsqueeze(-1)
        return F.log_softmax(self.lin1(h.mean(1)), dim=-1)


# %%
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=0.0001)
x, adj = torch.randn(40, 10, 8), torch.softmax(torch.randn(40, 10, 10), -1)
y = (x.mean((1, 2)) > 0).long()
train_loader = list(zip(x.split(10), adj.split(10), y.split(10)))

# %%
losses = []
for epoch in range(40):
    model.train()
    for i, (xb, ab, yb) in enumerate(train_loader):
        out = model(xb, ab)
        loss = F.nll_loss(out, yb)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0] and all(p.grad is None for p in model.parameters())
