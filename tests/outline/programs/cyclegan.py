import torch
import torch.nn as nn

torch.manual_seed(0)


def g():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 1, 1),
        nn.InstanceNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 3, 3, 1, 1),
        nn.Tanh(),
    )


def d():
    return nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4, 1, 1))


G_AB, G_BA, D_A, D_B = g(), g(), d(), d()
mse, l1 = nn.MSELoss(), nn.L1Loss()
oG = torch.optim.Adam([*G_AB.parameters(), *G_BA.parameters()])
oD = torch.optim.Adam([*D_A.parameters(), *D_B.parameters()])
real_A, real_B = torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16)
# %% the recorded cell
oG.zero_grad()
idt = l1(G_BA(real_A), real_A) + l1(G_AB(real_B), real_B)
fake_B = G_AB(real_A)
fake_A = G_BA(real_B)
pb, pa = D_B(fake_B), D_A(fake_A)
gan = mse(pb, torch.ones_like(pb)) + mse(pa, torch.ones_like(pa))
cyc = l1(G_BA(fake_B), real_A) + l1(G_AB(fake_A), real_B)
loss_G = gan + 10 * cyc + 5 * idt
loss_G.backward()
oG.step()
oD.zero_grad()
dr = D_A(real_A)
df = D_A(fake_A.detach())
loss_DA = mse(dr, torch.ones_like(dr)) + mse(df, torch.zeros_like(df))
loss_DA.backward()
dr = D_B(real_B)
df = D_B(fake_B.detach())
loss_DB = mse(dr, torch.ones_like(dr)) + mse(df, torch.zeros_like(df))
loss_DB.backward()
oD.step()
