# https://github.com/HobbitLong/RepDistiller/issues/37
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_DATA, FEAT = 200, 16


class Normalize(nn.Module):
    def forward(self, x):
        return x / x.pow(2).sum(1, keepdim=True).sqrt()


class Embed(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.linear, self.l2norm = nn.Linear(dim_in, dim_out), Normalize()

    def forward(self, x):
        return self.l2norm(self.linear(x))


class ContrastMemory(nn.Module):
    def __init__(self, dim, size, K, T=0.1, momentum=0.5):
        super().__init__()
        self.K, self.T, self.momentum, self.size = K, T, momentum, size
        bound = 1.0 / math.sqrt(dim / 3)
        self.register_buffer('memory_v1', (2 * torch.rand(size, dim) - 1) * bound)
        self.register_buffer('memory_v2', (2 * torch.rand(size, dim) - 1) * bound)

    def scores(self, memory, v, idx):
        weight = memory.index_select(0, idx.view(-1)).detach().view(*idx.shape, -1)
        return torch.bmm(weight, v.unsqueeze(2)).squeeze(2) / self.T

    def forward(self, v1, v2, y):
        idx = torch.randint(0, self.size, (len(y), self.K + 1))
        idx[:, 0] = y
        out_v1 = self.scores(self.memory_v2, v1, idx)
        out_v2 = self.scores(self.memory_v1, v2, idx)
        with torch.no_grad():
            for memory, v in ((self.memory_v1, v1), (self.memory_v2, v2)):
                row = memory.index_select(0, y)
                row.mul_(self.momentum).add_(v * (1 - self.momentum))
                memory.index_copy_(0, y, row / row.norm(dim=1, keepdim=True))
        return out_v1, out_v2


class CRDLoss(nn.Module):
    def __init__(self, s_dim, t_dim):
        super().__init__()
        self.embed_s, self.embed_t = Embed(s_dim, FEAT), Embed(t_dim, FEAT)
        self.contrast = ContrastMemory(FEAT, N_DATA, K=40)

    def forward(self, f_s, f_t, idx):
        out_s, out_t = self.contrast(self.embed_s(f_s), self.embed_t(f_t), idx)
        first = torch.zeros(len(idx), dtype=torch.long)
        return F.cross_entropy(out_s, first) + F.cross_entropy(out_t, first)


data = torch.randn(N_DATA, 8)
model_t = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 24)).eval()
model_s = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 12))

# %%
criterion_kd = CRDLoss(s_dim=12, t_dim=24)
trainable_list = nn.ModuleList([model_s, criterion_kd.embed_s, criterion_kd.embed_t])
optimizer = torch.optim.Adam(trainable_list.parameters(), lr=2e-3)
memory_before = criterion_kd.contrast.memory_v1.clone()
history = []

# %%
for epoch in range(40):
    model_s.train()
    epoch_loss = 0.0
    for index in torch.randperm(N_DATA).split(40):
        feat_s = model_s(data[index])
        with torch.no_grad():
            feat_t = model_t(data[index])
        loss = criterion_kd(feat_s, feat_t, index)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / 5
    history.append(epoch_loss)
memory = criterion_kd.contrast.memory_v1
print(history[0], history[-1], (memory - memory_before).abs().max().item())
assert not memory.requires_grad and not torch.equal(memory, memory_before)
assert all(p.grad is not None for p in trainable_list.parameters())
assert all(p.grad is None for p in model_t.parameters())
assert history[-1] < 0.7 * history[0]
