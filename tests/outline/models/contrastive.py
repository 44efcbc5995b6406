# Two towers, one projection for both, and a learned temperature
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(392, 32)
        )
        self.text = nn.Sequential(nn.EmbeddingBag(50, 32), nn.ReLU(), nn.Linear(32, 32))
        self.proj = nn.Linear(32, 16)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, img, txt):
        a = F.normalize(self.proj(self.image(img)), dim=-1)
        b = F.normalize(self.proj(self.text(txt)), dim=-1)
        return self.scale.exp() * a @ b.T


model = Clip()
opt = torch.optim.Adam(model.parameters())
img, txt, y = torch.randn(4, 3, 16, 16), torch.randint(50, (4, 7)), torch.arange(4)
# %% the recorded cell
opt.zero_grad()
logits = model(img, txt)
loss = (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2
loss.backward()
opt.step()
