# https://github.com/cwmok/DIRAC/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DIRAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.LeakyReLU(0.2))
        self.fw, self.bw = nn.Conv2d(8, 2, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)

    def forward(self, x, y):
        h = self.enc(torch.cat([x, y], 1))
        return self.fw(h), self.bw(h)


def warp(img, flow):
    b, _, h, w = flow.shape
    grid = F.affine_grid(torch.eye(2, 3).expand(b, 2, 3), (b, 1, h, w), align_corners=True)
    return F.grid_sample(img, grid + flow.permute(0, 2, 3, 1), align_corners=True)


# %%
model = DIRAC()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
occ, smooth = 0.01, 4.0

# %%
for step in range(3):
    X, Y = torch.rand(2, 1, 8, 8), torch.rand(2, 1, 8, 8)
    F_xy, F_yx = model(X, Y)
    X_Y, Y_X = warp(X, F_xy), warp(Y, F_yx)
    diff_fw, diff_bw = F_xy + warp(F_yx, F_xy), F_yx + warp(F_xy, F_yx)
    norm_diff_fw = torch.norm(diff_fw, dim=1, keepdim=True)
    norm_diff_bw = torch.norm(diff_bw, dim=1, keepdim=True)
    thresh_fw = norm_diff_fw.mean().detach() + 0.015
    thresh_bw = norm_diff_bw.mean().detach() + 0.015
    occ_xy = (norm_diff_fw > thresh_fw).float()
    occ_yx = (norm_diff_bw > thresh_bw).float()
    loss_occ = torch.mean(occ_xy) + torch.mean(occ_yx)
    loss_multiNCC = F.mse_loss(X_Y, Y) + F.mse_loss(Y_X, X)
    loss_reg = F_xy.diff(dim=2).pow(2).mean() + F_yx.diff(dim=2).pow(2).mean()
    loss = loss_multiNCC + smooth * loss_reg + occ * loss_occ
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), loss_occ.item())
