import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


# BYOL with an EMA target
def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(mlp(32, 64, 32), mlp(32, 64, 16))
        self.pred = mlp(16, 32, 16)
        self.target = nn.Sequential(mlp(32, 64, 32), mlp(32, 64, 16))
        self.target.load_state_dict(self.online.state_dict())

    def forward(self, a, b):
        pa, pb = self.pred(self.online(a)), self.pred(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)

        def sim(p, t):
            return 2 - 2 * F.cosine_similarity(p, t.detach(), dim=-1).mean()

        return sim(pa, tb) + sim(pb, ta)

    @torch.no_grad()
    def ema(self, m=0.99):
        for o, t in zip(self.online.parameters(), self.target.parameters(), strict=False):
            t.mul_(m).add_(o, alpha=1 - m)


byol = BYOL()
opt = torch.optim.SGD([*byol.online.parameters(), *byol.pred.parameters()], 0.1, momentum=0.9)
x = torch.randn(16, 32)
# %% the recorded cell
v1 = x + 0.1 * torch.randn_like(x)
v2 = x * (torch.rand_like(x) > 0.2)
loss = byol(v1, v2)
opt.zero_grad()
loss.backward()
opt.step()
byol.ema()
