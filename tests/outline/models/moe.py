# Mixture of experts: every row is sent to the two experts that the gate likes best
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, d=16, n=6):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, d)) for _ in range(n)
        )

    def forward(self, x):
        p, which = self.gate(x).softmax(-1).topk(2)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = (which == i).nonzero(as_tuple=True)
            if len(rows):
                y = y.index_add(0, rows, p[rows, slot, None] * expert(x[rows]))
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.moe = MoE()
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        h = self.inp(x)
        return self.head(self.norm(h + self.moe(h)))


model = Net()
opt = torch.optim.Adam(model.parameters())
x, y = torch.randn(32, 8), torch.randint(3, (32,))
# %% the recorded cell
opt.zero_grad()
loss = F.cross_entropy(model(x), y)
loss.backward()
opt.step()
