# https://github.com/fangyuanmao/PID/issues/46
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TeVNet(nn.Module):
    """Decomposes an infrared image into temperature, emissivity and texture."""

    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        t, e, v = torch.sigmoid(self.head(F.relu(self.body(x)))).chunk(3, dim=1)
        return t, e, v


def get_loss_rec(tevnet, pred, target):
    t, e, v = tevnet(pred)
    rec = e * t + (1 - e) * v
    return F.l1_loss(rec, target)


def get_loss_tev(tevnet, pred, target):
    return sum(F.l1_loss(a, b) for a, b in zip(tevnet(pred), tevnet(target)))


# %%
tevnet = TeVNet()
tevnet.eval()
for param in tevnet.parameters():
    param.requires_grad = False
ldm = nn.Sequential(nn.Conv2d(4, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 1, 3, padding=1))
opt = torch.optim.Adam(ldm.parameters(), lr=1e-3)
rgb, infrared = torch.rand(4, 3, 16, 16), torch.rand(4, 1, 16, 16)

# %%
history = []
for step in range(20):
    noisy = infrared + 0.3 * torch.randn_like(infrared)
    pred = ldm(torch.cat([rgb, noisy], dim=1))
    loss_noise = F.mse_loss(pred, infrared)
    loss_rec = get_loss_rec(tevnet, pred, infrared)
    loss_tev = get_loss_tev(tevnet, pred, infrared)
    loss = loss_noise + 50 * loss_rec + 5 * loss_tev
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
print(history[0], history[-1])
assert history[-1] < history[0]
assert loss_tev.requires_grad and all(p.grad is None for p in tevnet.parameters())
