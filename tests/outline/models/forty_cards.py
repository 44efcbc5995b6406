# Of middle size: three modules and about forty statements by hand, a gated memory and its losses
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
embed = nn.Embedding(20, 12)
gates = nn.Linear(24, 48)
head = nn.Linear(12, 20)
start = nn.Parameter(torch.zeros(3, 12))
keys = nn.Parameter(torch.randn(5, 12))
values = nn.Parameter(torch.randn(5, 12))
modules = [embed, gates, head]
leaves = [start, keys, values]
opt = torch.optim.Adam([*(p for m in modules for p in m.parameters()), *leaves])
ids = torch.randint(20, (3, 4))
# %% the recorded cell
opt.zero_grad()
words = embed(ids)
w0 = words[:, 0]
w1 = words[:, 1]
w2 = words[:, 2]

pre1 = gates(torch.cat([w0, start], 1))
i1, f1, o1, u1 = pre1.chunk(4, 1)
keep1 = torch.sigmoid(f1) * start
new1 = torch.sigmoid(i1) * torch.tanh(u1)
c1 = keep1 + new1
s1 = torch.sigmoid(o1) * torch.tanh(c1)

pre2 = gates(torch.cat([w1, s1], 1))
i2, f2, o2, u2 = pre2.chunk(4, 1)
keep2 = torch.sigmoid(f2) * c1
new2 = torch.sigmoid(i2) * torch.tanh(u2)
c2 = keep2 + new2
s2 = torch.sigmoid(o2) * torch.tanh(c2)

match = s2 @ keys.T
sharp = match / 12**0.5
att = torch.softmax(sharp, 1)
read = att @ values
s2r = s2 + read

pre3 = gates(torch.cat([w2, s2r], 1))
i3, f3, o3, u3 = pre3.chunk(4, 1)
keep3 = torch.sigmoid(f3) * c2
new3 = torch.sigmoid(i3) * torch.tanh(u3)
c3 = keep3 + new3
s3 = torch.sigmoid(o3) * torch.tanh(c3)

logits1 = head(s1)
logits2 = head(s2r)
logits3 = head(s3)
nll1 = F.cross_entropy(logits1, ids[:, 1])
nll2 = F.cross_entropy(logits2, ids[:, 2])
nll3 = F.cross_entropy(logits3, ids[:, 3])
nll = (nll1 + nll2 + nll3) / 3
plogp = att * att.log()
entropy = -plogp.sum(1).mean()
drift = (s3 - s1).pow(2).mean()
penalty = 0.01 * entropy + 0.1 * drift
loss = nll + penalty
loss.backward()
opt.step()
