# https://github.com/nikhilsinghmus/image2reverb/issues/37
import torch
import torch.nn as nn
import torch.nn.functional as F

g, d, enc = nn.Linear(6, 10), nn.Linear(16, 1), nn.Linear(5, 6)
spec, label = torch.randn(4, 10), torch.randn(4, 5)
opt_g = torch.optim.Adam(g.parameters())

# %%
f = enc(label).detach()
fake_spec = g(f)

# %%
d_fake2 = d(torch.cat([fake_spec.detach(), f], 1))
G_loss1 = F.mse_loss(d_fake2, torch.ones(d_fake2.shape))
G_loss2 = F.l1_loss(fake_spec, spec)
G_loss = G_loss1 + 100 * G_loss2

# %%
opt_g.zero_grad()
G_loss.backward(retain_graph=True)
print(G_loss1.item(), g.weight.grad.norm())
