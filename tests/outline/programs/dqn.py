import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.v = nn.Linear(64, 1)
        self.a = nn.Linear(64, 2)

    def forward(self, x):
        h = self.f(x)
        a = self.a(h)
        return self.v(h) + a - a.mean(-1, keepdim=True)


q, tq = Q(), Q()
tq.load_state_dict(q.state_dict())
opt = torch.optim.AdamW(q.parameters(), 1e-4)
mem = []


def act(s):
    if float(torch.rand(())) < 0.1:
        return int(torch.randint(2, ()))
    with torch.no_grad():
        return q(s).max(0).indices.item()


def optimize():
    if len(mem) < 8:
        return
    b = [mem[i] for i in torch.randperm(len(mem))[:8]]
    s, a, r, s2 = (torch.stack([torch.as_tensor(t[k]) for t in b]) for k in range(4))
    qs = q(s).gather(1, a.unsqueeze(1))
    with torch.no_grad():
        nxt = tq(s2).gather(1, q(s2).argmax(1, keepdim=True)).squeeze(1)
    loss = F.smooth_l1_loss(qs, (r + 0.99 * nxt).unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 100)
    opt.step()


# %% the recorded cell
s = torch.randn(4)
for _t in range(30):
    a = act(s)
    s2 = torch.tensor(torch.randn(4).tolist())
    mem.append((s, a, torch.tensor(1.0), s2))
    s = s2
    optimize()
    sd, td = q.state_dict(), tq.state_dict()
    for k in sd:
        td[k] = sd[k] * 0.005 + td[k] * 0.995
    tq.load_state_dict(td)
