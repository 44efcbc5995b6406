# https://github.com/Stability-AI/StableCascade/issues/112
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class StageC(nn.Module):
    """Predicts the noise of two numbers; a projection of the control may be added inside."""

    def __init__(self, hidden=64):
        super().__init__()
        self.embedding = nn.Linear(3, hidden)
        self.down = nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, hidden)
        self.clf = nn.Linear(hidden, 2)

    def forward(self, x, r, cnet=None):
        h = F.silu(self.embedding(torch.cat([x, r], 1)))
        h = F.silu(self.down(h))
        if cnet is not None:
            h = h + cnet
        return self.clf(F.silu(self.up(h)))


class ControlNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.projection = nn.Linear(hidden, hidden)
        nn.init.zeros_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)

    def forward(self, condition):
        return self.projection(self.backbone(condition))


class GDF:
    def diffuse(self, x0):
        t = torch.rand(len(x0), 1) * 0.98 + 0.01
        noise = torch.randn_like(x0)
        return (1 - t).sqrt() * x0 + t.sqrt() * noise, noise, t

    def undiffuse(self, x, t, noise):
        return (x - t.sqrt() * noise) / (1 - t).sqrt()


def latents(n):
    """Points left or right; the condition says which."""
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([side, torch.zeros(n, 1)], 1) + 0.1 * torch.randn(n, 2), side


# %%
gdf, generator = GDF(), StageC()
optimizer = torch.optim.AdamW(generator.parameters(), lr=3e-3)
for _ in range(300):
    noised, noise, t = gdf.diffuse(latents(128)[0])
    optimizer.zero_grad()
    F.mse_loss(generator(noised, t), noise).backward()
    optimizer.step()
optimizer.zero_grad()

# %%
controlnet = ControlNet()
optimizer = torch.optim.AdamW(controlnet.parameters(), lr=4e-3)
generator_before = [p.detach().clone() for p in generator.parameters()]
losses = []
generator.eval()
controlnet.train()
for it in range(300):
    x0, condition = latents(128)
    noised, noise, t = gdf.diffuse(x0)
    pred = generator(noised, t, cnet=controlnet(condition))
    loss = F.mse_loss(pred, noise)
    loss.backward()
    grad_norm = nn.utils.clip_grad_norm_(controlnet.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    generator.zero_grad(set_to_none=True)
    losses.append(loss.item())

# %%
@torch.no_grad()
def side_error(with_control):
    x0, condition = latents(512)
    t = torch.full((512, 1), 0.8)
    noised = (1 - t).sqrt() * x0 + t.sqrt() * torch.randn_like(x0)
    pred = generator(noised, t, cnet=controlnet(condition) if with_control else None)
    return (gdf.undiffuse(noised, t, pred)[:, :1] - condition).abs().mean().item()


without_control, with_control = side_error(False), side_error(True)
print(losses[0], losses[-1], without_control, with_control)
assert all(torch.equal(a, b) for a, b in zip(generator_before, generator.parameters()))
assert all(p.requires_grad for p in generator.parameters())
assert controlnet.projection.weight.abs().max() > 0
assert with_control < 0.7 * without_control
