import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GAT(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.W = nn.Linear(i, o, bias=False)
        self.a = nn.Parameter(torch.randn(2 * o) * 0.1)

    def forward(self, x, ei):
        h = self.W(x)
        s, d = ei
        e = F.leaky_relu((torch.cat([h[s], h[d]], -1) * self.a).sum(-1), 0.2)
        e = (e - e.max()).exp()
        z = torch.zeros(len(x)).index_add(0, d, e)
        return torch.zeros_like(h).index_add(0, d, h[s] * (e / (z[d] + 1e-9)).unsqueeze(-1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.out = GAT(8, 16), GAT(16, 16), nn.Linear(16, 3)

    def forward(self, x, ei):
        x = F.elu(self.l1(x, ei))
        x = F.dropout(F.elu(self.l2(x, ei)), 0.5, self.training)
        return self.out(x)


net = Net()
opt = torch.optim.Adam(net.parameters())
x = torch.randn(30, 8)
ei = torch.randint(0, 30, (2, 100))
y = torch.randint(0, 3, (30,))
mask = torch.rand(30) > 0.5
# %% the recorded cell
for _epoch in range(5):
    opt.zero_grad()
    logits = net(x, ei)
    loss = F.cross_entropy(logits[mask], y[mask])
    loss.backward()
    opt.step()
    with torch.no_grad():
        acc = (net(x, ei).argmax(1) == y)[~mask].float().mean().item()
