# https://github.com/Hsintien-Ng/idinvert_pytorch-reproduced/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

E = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 16))
G = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 3 * 64), nn.Unflatten(1, (3, 8, 8)))
D = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))


def D_logistic_simplegp(real_score, fake_score):
    return F.softplus(fake_score).mean() + F.softplus(-real_score).mean()


# %%
G.requires_grad_(False)
optimizer_E = torch.optim.Adam(E.parameters(), lr=1e-4, betas=(0.9, 0.99))
optimizer_D = torch.optim.Adam(D.parameters(), lr=1e-4, betas=(0.9, 0.99))
loss_adv_weight = 0.1

# %%
for image_snapshot_ticks in range(4):
    x_real = torch.rand(4, 3, 8, 8) * 2 - 1

    # encoder
    z_rec = E(x_real)
    x_rec = G(z_rec)
    loss_pix = F.mse_loss(x_rec, x_real)
    loss_adv = F.softplus(-D(x_rec)).mean()
    E_loss = loss_pix + loss_adv_weight * loss_adv
    optimizer_E.zero_grad()
    E_loss.backward()
    optimizer_E.step()

    # discriminator
    d_loss = D_logistic_simplegp(D(x_real), D(x_rec.detach()))
    d_loss.backward()
    optimizer_D.step()
    print(f'E {E_loss.item():.4f} D {d_loss.item():.4f}')
