# https://github.com/researchmm/TTSR/issues/28
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class MeanShift(nn.Conv2d):
    def __init__(self, rgb_range, rgb_mean, rgb_std, sign=-1):
        super(MeanShift, self).__init__(3, 3, kernel_size=1)
        std = torch.Tensor(rgb_std)
        self.weight.data = torch.eye(3).view(3, 3, 1, 1)
        self.weight.data.div_(std.view(3, 1, 1, 1))
        self.bias.data = sign * rgb_range * torch.Tensor(rgb_mean)
        self.bias.data.div_(std)
        self.weight.requires_grad = False
        self.bias.requires_grad = False


class Vgg19(nn.Module):
    def __init__(self, requires_grad=False, rgb_range=1):
        super(Vgg19, self).__init__()
        self.slice1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU())
        if not requires_grad:
            for param in self.slice1.parameters():
                param.requires_grad = requires_grad
        self.sub_mean = MeanShift(rgb_range, (0.485, 0.456, 0.406), (0.229 * rgb_range, 0.224 * rgb_range, 0.225 * rgb_range))

    def forward(self, X):
        return self.slice1(self.sub_mean(X))


class TTSR(nn.Module):
    def __init__(self, n_feats=8):
        super(TTSR, self).__init__()
        self.LTE = nn.Conv2d(3, n_feats, 3, padding=1)
        self.SFE = nn.Conv2d(3, n_feats, 3, padding=1)
        self.conv_tail = nn.Conv2d(2 * n_feats, 3, 3, padding=1)

    def forward(self, lr, lrsr, ref, refsr):
        S = F.normalize(self.LTE(refsr), dim=1)
        x = F.interpolate(F.relu(self.SFE(lr)), scale_factor=2, mode='bicubic')
        return torch.tanh(self.conv_tail(torch.cat((x, S), dim=1)))


class Trainer():
    def __init__(self, args, model):
        self.args, self.model = args, model
        self.vgg19 = Vgg19()
        self.rec, self.per = nn.L1Loss(), nn.MSELoss()
        self.optimizer = optim.Adam([{"params": filter(lambda p: p.requires_grad, self.model.parameters()), "lr": args.lr_rate}],
                                    betas=(0.9, 0.999))

    def train(self, dataloader, is_init=False):
        self.model.train()
        for i_batch, sample in enumerate(dataloader):
            self.optimizer.zero_grad()
            lr, lr_sr, hr, ref, ref_sr = sample
            sr = self.model(lr=lr, lrsr=lr_sr, ref=ref, refsr=ref_sr)
            # calc loss
            rec_loss = self.args.rec_w * self.rec(sr, hr)
            loss = rec_loss
            if not is_init:
                sr_relu5_1 = self.vgg19((sr + 1.) / 2.)
                with torch.no_grad():
                    hr_relu5_1 = self.vgg19((hr.detach() + 1.) / 2.)
                per_loss = self.args.per_w * self.per(sr_relu5_1, hr_relu5_1)
                self.through_vgg, = torch.autograd.grad(per_loss, sr, retain_graph=True)  # for a look
                loss += per_loss
            loss.backward()
            self.optimizer.step()
            print(i_batch, rec_loss.item(), per_loss.item())


# %%
def sample():
    return torch.rand(2, 3, 8, 8), torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16) * 2 - 1, torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16)


t = Trainer(SimpleNamespace(lr_rate=1e-4, rec_w=1.0, per_w=1e-2), TTSR())
t.train([sample() for _ in range(2)])
