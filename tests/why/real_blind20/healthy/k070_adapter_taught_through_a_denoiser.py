# https://github.com/TencentARC/T2I-Adapter/issues/109
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResBlock(nn.Module):
    def __init__(self, channels, emb):
        super().__init__()
        self.in_layers = nn.Sequential(nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))
        self.emb_layers = nn.Linear(emb, channels)
        self.out_layers = nn.Sequential(nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))

    def forward(self, x, emb):
        h = self.in_layers(x) + self.emb_layers(emb)[:, :, None, None]
        return x + self.out_layers(h)


class UNetModel(nn.Module):
    def __init__(self, channels=16, emb=16):
        super().__init__()
        self.time_embed = nn.Sequential(nn.Linear(1, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.input_conv = nn.Conv2d(1, channels, 3, padding=1)
        self.input_blocks = nn.ModuleList([ResBlock(channels, emb) for _ in range(2)])
        self.middle = ResBlock(channels, emb)
        self.out = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x, timesteps, features_adapter=None):
        emb = self.time_embed(timesteps[:, None])
        h, hs = self.input_conv(x), []
        for id, module in enumerate(self.input_blocks):
            h = module(h, emb)
            if features_adapter is not None:
                h = h + features_adapter[id]
            hs.append(h)
            if id == 0:
                h = F.avg_pool2d(h, 2)
        h = self.middle(h, emb)
        h = F.interpolate(h + hs.pop(), scale_factor=2) + hs.pop()
        return self.out(h)


class LatentDiffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = UNetModel()

    def forward(self, z, features_adapter=None):
        t = torch.rand(z.size(0))
        a = torch.cos(t * 1.5)[:, None, None, None]
        noise = torch.randn_like(z)
        x_noisy = a * z + (1 - a ** 2).sqrt() * noise
        loss = F.mse_loss(self.model(x_noisy, t, features_adapter), noise)
        return loss, {'train/loss_simple': loss.detach()}


class Adapter(nn.Module):
    def __init__(self, channels=16):
        super(Adapter, self).__init__()
        self.unshuffle = nn.Conv2d(1, channels, 3, padding=1)
        self.body = nn.ModuleList([nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, channels, 1)) for _ in range(2)])

    def forward(self, x):
        features = []
        x = self.unshuffle(x)
        for i, block in enumerate(self.body):
            if i > 0:
                x = F.avg_pool2d(x, 2)
            x = x + block(x)
            features.append(x)
        return features


def pictures(n):
    x, y = torch.randint(0, 5, (2, n, 1, 1, 1))
    place = torch.arange(8)
    row, column = place.view(1, 1, 8, 1), place.view(1, 1, 1, 8)
    return ((row >= y) & (row < y + 4) & (column >= x) & (column < x + 4)).float() * 2 - 1


def net_G(z):
    """Edges: what is bright and has something dark beside it."""
    return z - (-F.max_pool2d(-z, 3, 1, 1))


# %%
model = LatentDiffusion()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for _ in range(200):
    optimizer.zero_grad()
    loss, _ = model(pictures(16))
    loss.backward()
    optimizer.step()
model.zero_grad()
model.eval()
unet_before = [p.detach().clone() for p in model.parameters()]

# %%
# sketch encoder
model_ad = Adapter()
# optimizer
params = list(model_ad.parameters())
optimizer = torch.optim.AdamW(params, lr=6e-3)
losses, test_im = [], pictures(256)
for current_iter in range(150):
    with torch.no_grad():
        z = pictures(16)
        edge = net_G(z)
        edge = edge > 0.5
        edge = edge.float()

    optimizer.zero_grad()
    model.zero_grad()
    features_adapter = model_ad(edge)
    l_pixel, loss_dict = model(z, features_adapter=features_adapter)
    l_pixel.backward()
    optimizer.step()
    losses.append(loss_dict['train/loss_simple'].item())

# %%
with torch.no_grad():
    torch.manual_seed(1)
    without = model(test_im)[0].item()
    torch.manual_seed(1)
    with_adapter = model(test_im, model_ad((net_G(test_im) > 0.5).float()))[0].item()
unet_moved = any(not torch.equal(a, b) for a, b in zip(unet_before, model.parameters()))
unet_grads = all(p.grad is not None for p in model.parameters())
print(losses[0], losses[-1], without, with_adapter, unet_moved, unet_grads)
assert not unet_moved and unet_grads and with_adapter < 0.93 * without
