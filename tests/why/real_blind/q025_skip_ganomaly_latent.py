# https://github.com/samet-akcay/skip-ganomaly/issues/5
import torch
import torch.nn as nn


class NetD(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(6, 4)
        self.classifier = nn.Linear(4, 1)

    def forward(self, x):
        feat = torch.relu(self.features(x))
        return self.classifier(feat), feat


netg, netd = nn.Linear(6, 6), NetD()
input = torch.randn(8, 6)
l_con, l_lat = nn.L1Loss(), nn.MSELoss()

# %%
fake = netg(input)
pred_real, feat_real = netd(input)
pred_fake, feat_fake = netd(fake.detach())

# %%
err_g_con = l_con(fake, input)
err_g_lat = l_lat(feat_fake, feat_real)
err_g = 50 * err_g_con + 1 * err_g_lat
err_g.backward(retain_graph=True)
print(netg.weight.grad.norm())
