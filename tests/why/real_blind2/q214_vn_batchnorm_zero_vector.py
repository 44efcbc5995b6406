# https://github.com/FlyingGiraffe/vnn/pull/4
import torch
import torch.nn as nn
import torch.nn.functional as F

EPS = 1e-6


class VNLinearLeakyReLU(nn.Module):
    def __init__(self, in_channels, out_channels, dim=4, negative_slope=0.2):
        super(VNLinearLeakyReLU, self).__init__()
        self.dim = dim
        self.negative_slope = negative_slope
        self.map_to_feat = nn.Linear(in_channels, out_channels, bias=False)
        self.batchnorm = VNBatchNorm(out_channels, dim=dim)
        self.map_to_dir = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, x):
        '''
        x: point features of shape [B, N_feat, 3, N_samples, ...]
        '''
        # Linear
        p = self.map_to_feat(x.transpose(1, -1)).transpose(1, -1)
        # BatchNorm
        p = self.batchnorm(p)
        # LeakyReLU
        d = self.map_to_dir(x.transpose(1, -1)).transpose(1, -1)
        dotprod = (p * d).sum(2, keepdims=True)
        mask = (dotprod >= 0).float()
        d_norm_sq = (d * d).sum(2, keepdims=True)
        x_out = self.negative_slope * p + (1 - self.negative_slope) * (
            mask * p + (1 - mask) * (p - (dotprod / (d_norm_sq + EPS)) * d))
        return x_out


class VNBatchNorm(nn.Module):
    def __init__(self, num_features, dim):
        super(VNBatchNorm, self).__init__()
        self.dim = dim
        if dim == 3 or dim == 4:
            self.bn = nn.BatchNorm1d(num_features)
        elif dim == 5:
            self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x):
        '''
        x: point features of shape [B, N_feat, 3, N_samples, ...]
        '''
        norm = torch.sqrt((x * x).sum(2))
        norm_bn = self.bn(norm)
        norm = norm.unsqueeze(2)
        norm_bn = norm_bn.unsqueeze(2)
        x = x / norm * norm_bn
        return x


def mean_pool(x, dim=-1, keepdim=False):
    return x.mean(dim=dim, keepdim=keepdim)


# %%
class get_model(nn.Module):
    def __init__(self, num_class=4):
        super(get_model, self).__init__()
        self.conv1 = VNLinearLeakyReLU(1, 6)
        self.conv2 = VNLinearLeakyReLU(6, 8)
        self.fc = nn.Linear(8, num_class)

    def forward(self, point_cloud):
        x = point_cloud.unsqueeze(1)  # B, 1, 3, N
        x = self.conv2(self.conv1(x))
        x = mean_pool(x)
        x = (x * x).sum(2)  # invariant
        return self.fc(x)


def pc_normalize(pc):
    pc = pc - pc.mean(dim=1, keepdim=True)
    m = pc.pow(2).sum(dim=1).sqrt().max()
    return pc / m


def pad_points(pc, npoints):
    return F.pad(pc, (0, npoints - pc.shape[1]))


# %%
sizes = [20, 24, 17, 24]
points = torch.stack([pad_points(pc_normalize(torch.randn(3, n)), 24) for n in sizes])
target = torch.randint(4, (4,))

classifier = get_model()
optimizer = torch.optim.Adam(classifier.parameters(), lr=0.001, weight_decay=1e-4)

# %%
optimizer.zero_grad()
pred = classifier(points)
loss = F.cross_entropy(pred, target)
loss.backward()
print(loss, [p.grad.norm() for p in classifier.parameters()])
