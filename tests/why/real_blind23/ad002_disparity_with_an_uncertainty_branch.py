# https://github.com/jzhangbs/DSM/issues/2
import itertools

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CONVS = [nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.ConvTranspose3d]
NORMS = [nn.BatchNorm2d, nn.BatchNorm3d]


class UniNet(nn.Module):

    def __init__(self):
        super(UniNet, self).__init__()
        self.init_conv = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.final_conv = nn.Conv2d(8, 8, 3, 1, 1, bias=False)
        for m in itertools.chain(self.init_conv.modules(), self.final_conv.modules()):
            if any([isinstance(m, T) for T in CONVS]):
                nn.init.xavier_uniform_(m.weight)

    def forward(self, x):
        out = self.init_conv(x)
        out = self.final_conv(out)
        return out


class RegNet(nn.Module):

    def __init__(self):
        super(RegNet, self).__init__()
        self.init_conv = nn.Sequential(nn.Conv3d(16, 8, 3, 1, 1, bias=False), nn.BatchNorm3d(8), nn.ReLU())
        self.final_conv = nn.Conv3d(8, 1, 3, 1, 1, bias=False)

    def forward(self, x):
        out = self.init_conv(x)
        out = self.final_conv(out)
        return out


class UncertNet(nn.Module):

    def __init__(self):
        super(UncertNet, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(1, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.conv2 = nn.Sequential(nn.Conv2d(32, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        for m in self.conv2.modules():
            if any([isinstance(m, T) for T in CONVS]):
                nn.init.xavier_uniform_(m.weight)
            elif any([isinstance(m, T) for T in NORMS]):
                nn.init.constant_(m.weight, 0)
                nn.init.constant_(m.bias, 0)
        self.conv3 = nn.Conv2d(32, 1, 3, 1, 1, bias=False)
        nn.init.xavier_uniform_(self.conv3.weight)

    def forward(self, x):
        out = self.conv1(x)
        out = self.conv2(out)
        out += x
        out = self.conv3(out)
        return out


class Model(nn.Module):

    def __init__(self, max_d):
        super(Model, self).__init__()
        self.uni_net = UniNet()
        self.reg_net = RegNet()
        self.uncert_net = UncertNet()
        self.max_d = max_d

    def build_cost_volume(self, left, right):
        size = left.size()
        c = size[1]
        cost = torch.zeros(size[0], size[1] * 2, self.max_d // 4, size[2], size[3])
        for i in range(self.max_d // 4):
            if i > 0:
                cost[:, :c, i, :, i:] = left[..., i:]
                cost[:, c:2 * c, i, :, i:] = right[..., :-i]
            else:
                cost[:, :c, i, ...] = left
                cost[:, c:2 * c, i, ...] = right
        return cost.contiguous()

    def soft_argmin(self, prob_vol):
        disp = torch.from_numpy(np.reshape(np.array(range(self.max_d)).astype(np.float32), [1, self.max_d, 1, 1]))
        return torch.sum(disp * prob_vol, dim=1, keepdim=True)

    def forward(self, images):
        left, right = images
        cost_volume = self.build_cost_volume(self.uni_net(left), self.uni_net(right))
        score_volume = self.reg_net(cost_volume)  # n1dhw
        score_volume = F.interpolate(score_volume, scale_factor=4, mode='trilinear', align_corners=False)
        prob_volume = torch.squeeze(nn.Softmax(dim=2)(score_volume), dim=1)
        estimated_disp_image = self.soft_argmin(prob_volume)
        entropy = torch.sum(-prob_volume * torch.log(torch.clamp(prob_volume, 1e-9, 1.)), dim=1, keepdim=True)
        uncertainty_image = self.uncert_net(entropy)
        return estimated_disp_image, uncertainty_image


class Loss(nn.Module):

    def __init__(self, max_d):
        super(Loss, self).__init__()
        self.max_d = max_d

    def forward(self, images, disp_true):
        estimated_disp_image, uncertainty_image = images
        mask = (disp_true <= self.max_d) & (disp_true != 0)
        abs_err = torch.abs(disp_true[mask] - estimated_disp_image[mask])
        uncert = uncertainty_image[mask]
        return abs_err.mean(), torch.mean(abs_err * torch.exp(-uncert) + uncert)


# %%
model = Model(16)
model.train()
compute_loss = Loss(16)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
left_image, right_image = torch.rand(2, 3, 32, 64), torch.rand(2, 3, 32, 64)
disp_image = torch.rand(2, 1, 32, 64) * 15 + 0.5

# %%
for global_step in range(3):
    optimizer.zero_grad()
    output = model([left_image, right_image])
    initial_loss, uncert_loss = compute_loss(output, disp_image)
    loss = initial_loss + uncert_loss
    loss.backward()
    optimizer.step()
    print(f'step {global_step}, loss {loss.item():.4f}')
