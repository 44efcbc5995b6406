# https://github.com/qianqianwang68/caps/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
WIDTH = 24


class FeatureNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv1d(32, dim, 5, padding=2)

    def forward(self, x):
        return F.normalize(self.conv2(F.relu(self.conv1(x))), dim=1)


class CAPSNet(nn.Module):
    """Finds points of one row of pixels in another one, as the mean of a distribution."""

    def __init__(self):
        super().__init__()
        self.net = FeatureNet()
        self.register_buffer('grid', torch.arange(WIDTH).float())

    def get_expected_correspondence(self, feat1, feat2, coord1):
        query = feat1.gather(2, coord1.unsqueeze(1).expand(-1, feat1.size(1), -1))
        prob = F.softmax(10 * torch.einsum('bcn,bcm->bnm', query, feat2), dim=-1)
        coord2 = (prob * self.grid).sum(-1)
        var = (prob * self.grid ** 2).sum(-1) - coord2 ** 2
        return coord2, torch.sqrt(torch.clamp(var, min=1e-10))

    def forward(self, im1, im2, coord1):
        return self.get_expected_correspondence(self.net(im1), self.net(im2), coord1)


class Criterion(nn.Module):
    def __init__(self, w_std=0.1):
        super().__init__()
        self.w_std = w_std

    def set_weight(self, std, mask=None):
        inverse_std = 1. / torch.clamp(std + 0.1, min=1e-10)
        weight = inverse_std / torch.mean(inverse_std)
        weight = weight.detach()
        if mask is not None:
            weight *= mask.float()
            weight /= torch.mean(weight)
        return weight

    def forward(self, coord2, std, truth):
        cost = torch.abs(coord2 - truth)
        weight = self.set_weight(std, mask=cost < 0.5 * WIDTH)
        eloss = torch.mean(cost * weight) / WIDTH
        std_loss = torch.mean(std) / WIDTH
        return eloss + self.w_std * std_loss, eloss, weight


def pairs(n, points=6):
    im1 = torch.randn(n, 1, WIDTH)
    shift = torch.randint(-4, 5, (n,))
    im2 = torch.stack([row.roll(int(s), -1) for row, s in zip(im1, shift)]) + 0.1 * torch.randn(n, 1, WIDTH)
    coord1 = torch.randint(5, WIDTH - 5, (n, points))
    return im1, im2, coord1, (coord1 + shift.unsqueeze(1)).float()


# %%
model, criterion = CAPSNet(), Criterion()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
losses, stds = [], []
for it in range(200):
    im1, im2, coord1, truth = pairs(32)
    coord2, std = model(im1, im2, coord1)
    loss, eloss, weight = criterion(coord2, std, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(eloss.item())
    stds.append(std.mean().item())

# %%
with torch.no_grad():
    im1, im2, coord1, truth = pairs(200)
    coord2, std = model(im1, im2, coord1)
    error = (coord2 - truth).abs().median().item()
print(losses[0], losses[-1], stds[0], stds[-1], error)
assert not weight.requires_grad and std.max() < WIDTH
assert all(p.grad.any() for p in model.parameters() if p is not model.net.conv2.bias)
assert losses[-1] < 0.3 * losses[0] and stds[-1] < 0.6 * stds[0] and error < 1
