# https://github.com/ClementPinard/SfmLearner-Pytorch/issues/5
import itertools

import torch
import torch.nn as nn

torch.manual_seed(0)


class DispNetS(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 1, 3, 1, 1), nn.Sigmoid())

    def forward(self, x):
        return 10 * self.conv(x) + 0.01


class PoseExpNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(6, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 6, 1))

    def forward(self, tgt, ref):
        return 0.01 * self.conv(torch.cat([tgt, ref], 1)).mean((2, 3))


def photometric_loss(tgt, ref, depth, pose):
    shift = pose.mean(1).view(-1, 1, 1, 1) / depth
    return (tgt - ref * (1 - shift)).abs().mean()


def train(train_loader, disp_net, pose_net, optimizer, scheduler):
    for i, (tgt_img, ref_img) in enumerate(train_loader):
        depth = 1 / disp_net(tgt_img)
        pose = pose_net(tgt_img, ref_img)
        loss = photometric_loss(tgt_img, ref_img, depth, pose)

        optimizer.zero_grad()
        loss.backward()
        if scheduler:
            scheduler.step()
        else:
            optimizer.step()
        print('Train: Loss {:.4f} lr {:.1e}'.format(loss.item(), optimizer.param_groups[0]['lr']))


# %%
disp_net, pose_exp_net = DispNetS(), PoseExpNet()
parameters = itertools.chain(disp_net.parameters(), pose_exp_net.parameters())
optimizer = torch.optim.Adam(parameters, 2e-4, betas=(0.9, 0.999))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
w_before = disp_net.conv[0].weight.detach().clone()

# %%
train_loader = [(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)) for _ in range(4)]
for epoch in range(2):
    train(train_loader, disp_net, pose_exp_net, optimizer, scheduler)
