# https://airoads.org/ch06-deep-learning/ch06-generative/gan
import torch
from torch import nn

torch.manual_seed(7)


def real_batch(n):
    return torch.randn(n, 1) * 0.2 + 2.0


# %%
G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
D = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
loss_fn = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(G.parameters(), lr=0.01)
opt_d = torch.optim.Adam(D.parameters(), lr=0.01)
with torch.no_grad():
    mean_at_first = G(torch.randn(500, 2)).mean().item()

# %%
means = []
for step in range(1, 601):
    real = real_batch(64)
    z = torch.randn(64, 2)
    fake = G(z).detach()

    d_real = D(real)
    d_fake = D(fake)
    loss_d = loss_fn(d_real, torch.ones_like(d_real)) + loss_fn(d_fake, torch.zeros_like(d_fake))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    z = torch.randn(64, 2)
    fake = G(z)
    d_fake = D(fake)
    loss_g = loss_fn(d_fake, torch.ones_like(d_fake))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    means.append(fake.mean().item())
    if step % 100 == 0:
        print(f"step={step:03d} loss_d={loss_d.item():.3f} loss_g={loss_g.item():.3f} "
              f"fake_mean={fake.mean().item():.3f} fake_std={fake.std().item():.3f}")

# %%
late_mean = sum(means[-200:]) / 200
print(mean_at_first, late_mean)
assert abs(late_mean - 2.0) < 0.5 and abs(late_mean - 2.0) < abs(mean_at_first - 2.0)
