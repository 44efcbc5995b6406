# https://github.com/marco-rudolph/cs-flow/issues/28
import math

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class FeatureExtractor(nn.Module):
    def __init__(self):
        super(FeatureExtractor, self).__init__()
        self.feature_extractor = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.down = nn.AvgPool2d(2)

    def forward(self, x):
        y = torch.tanh(self.feature_extractor(x))
        return [y, self.down(y)]


class CrossConvolutions(nn.Module):
    """Two scales in, scale and shift for both out; each hears of the other."""
    def __init__(self, channels, hidden=24):
        super().__init__()
        self.conv_scale0_0 = nn.Conv2d(channels, hidden, 3, padding=1)
        self.conv_scale1_0 = nn.Conv2d(channels, hidden, 3, padding=1)
        self.up_conv10 = nn.Conv2d(hidden, 4 * channels, 3, padding=1)
        self.down_conv01 = nn.Conv2d(hidden, 4 * channels, 3, padding=1, stride=2)
        self.conv_scale0_1 = nn.Conv2d(hidden, 4 * channels, 3, padding=1)
        self.conv_scale1_1 = nn.Conv2d(hidden, 4 * channels, 3, padding=1)
        self.upsample = nn.Upsample(scale_factor=2, mode='nearest')
        self.lr = nn.LeakyReLU(0.1)
        self.gamma = nn.Parameter(0.1 * torch.ones(1))

    def forward(self, x0, x1):
        out0, out1 = self.lr(self.conv_scale0_0(x0)), self.lr(self.conv_scale1_0(x1))
        y0 = self.conv_scale0_1(out0) + self.up_conv10(self.upsample(out1))
        y1 = self.conv_scale1_1(out1) + self.down_conv01(out0)
        return self.gamma * y0, self.gamma * y1


class GlowCouplingLayer(nn.Module):
    def __init__(self, channels, clamp=1.9):
        super().__init__()
        self.half, self.clamp = channels // 2, clamp
        self.s = CrossConvolutions(self.half)
        self.register_buffer("perm", torch.randperm(channels))

    def log_e(self, s):
        return self.clamp * 0.636 * torch.atan(s / self.clamp)

    def forward(self, x, jac):
        a, b = zip(*[(t[:, self.perm][:, :self.half], t[:, self.perm][:, self.half:]) for t in x])
        out = self.s(*a)
        y, jac = [], list(jac)
        for i, (a_i, b_i, r) in enumerate(zip(a, b, out)):
            s, t = self.log_e(r[:, :self.half]), r[:, self.half:2 * self.half]
            y.append(torch.cat([a_i, torch.exp(s) * b_i + t], 1))
            jac[i] = jac[i] + torch.sum(s, dim=(1, 2, 3))
        return y, jac


class CSFlow(nn.Module):
    def __init__(self, channels=8, n_coupling_blocks=4):
        super().__init__()
        self.blocks = nn.ModuleList([GlowCouplingLayer(channels) for _ in range(n_coupling_blocks)])

    def forward(self, x):
        jac = [0., 0.]
        for block in self.blocks:
            x, jac = block(x, jac)
        return x, jac


def get_loss(z, jac):
    z = torch.cat([z[i].reshape(z[i].shape[0], -1) for i in range(len(z))], dim=1)
    jac = sum(jac)
    return torch.mean(0.5 * torch.sum(z ** 2, dim=(1,)) - jac) / z.shape[1]


def t2np(tensor):
    '''pytorch tensor -> numpy array'''
    return tensor.cpu().data.numpy() if tensor is not None else None


def stripes(n, defect=False):
    x = torch.sin(torch.arange(16) * math.pi / 4).expand(n, 1, 16, 16) + 0.1 * torch.randn(n, 1, 16, 16)
    if defect:
        x[:, :, 6:10, 6:10] = 0
    return x


# %%
model = CSFlow()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-04, weight_decay=1e-5)
fe = FeatureExtractor()
fe.eval()
for param in fe.parameters():
    param.requires_grad = False

# %%
history = []
for epoch in range(3):
    # train some epochs
    model.train()
    train_loss = list()
    for i in range(25):
        optimizer.zero_grad()
        inputs = fe(stripes(16))
        z, jac = model(inputs)
        loss = get_loss(z, jac)
        train_loss.append(t2np(loss))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    history.append(float(np.mean(train_loss)))
    print('Epoch: {:d} \t train loss: {:.4f}'.format(epoch, history[-1]))

# %%
model.eval()
with torch.no_grad():
    good, bad = [np.mean(t2np(torch.cat([k.flatten(1) for k in model(fe(x))[0]], 1)) ** 2 / 2, axis=1) for x in (stripes(50), stripes(50, True))]
auroc = float((bad[:, None] > good[None]).mean())
print(history, auroc, all(p.grad is None for p in fe.parameters()))
assert history[-1] < 0 and history[-1] < history[0] - 0.3 and auroc > 0.9
