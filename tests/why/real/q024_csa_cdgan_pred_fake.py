# https://github.com/wangle53/CSA-CDGAN/issues/5
import torch
import torch.nn as nn

netg, netd = nn.Linear(6, 4), nn.Linear(4, 1)
l_adv, l_con = nn.BCEWithLogitsLoss(), nn.L1Loss()
optimizer_g = torch.optim.Adam(netg.parameters())
x, gt = torch.randn(8, 6), torch.rand(8, 4)
real_label = torch.ones(8, 1)

# %%
fake = netg(x)
pred_fake = netd(fake).detach()
err_g_adv = l_adv(pred_fake, real_label)
err_g_con = l_con(fake, gt)
err_g = 1 * err_g_adv + 50 * err_g_con

# %%
optimizer_g.zero_grad()
err_g.backward()
optimizer_g.step()
print(err_g_adv.requires_grad)
