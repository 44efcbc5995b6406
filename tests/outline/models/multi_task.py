# One body, five heads, five losses
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
SIZES = {"age": 1, "mood": 4, "pose": 6, "depth": 1, "gaze": 2}


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.body = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.ModuleDict({k: nn.Linear(32, n) for k, n in SIZES.items()})

    def forward(self, x):
        s = self.stem(x)
        f = self.body(s)
        out = {}
        for name, head in self.heads.items():
            out[name] = head(f)
        return out


model = Multi()
opt = torch.optim.Adam(model.parameters())
x, t, c = torch.randn(8, 16), torch.randn(8), torch.randint(4, (8,))
q, g = torch.randn(8, 6), torch.randn(8, 2)
# %% the recorded cell
opt.zero_grad()
out = model(x)
l_age = F.mse_loss(out["age"][:, 0], t)
l_mood = F.cross_entropy(out["mood"], c)
l_pose = F.smooth_l1_loss(out["pose"], q)
l_depth = F.mse_loss(out["depth"][:, 0], t)
l_gaze = F.mse_loss(out["gaze"], g)
loss = l_age + l_mood + l_pose + 0.1 * l_depth + l_gaze
loss.backward()
opt.step()
