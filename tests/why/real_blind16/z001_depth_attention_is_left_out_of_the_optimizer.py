# https://github.com/ygjwd12345/TransDepth/issues/19
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AttentionGraphCondKernel(nn.Module):
    def __init__(self, width=16):
        super(AttentionGraphCondKernel, self).__init__()
        self.kernel = nn.Conv2d(2 * width, width, kernel_size=1)
        self.gate = nn.Conv2d(2 * width, width, kernel_size=3, padding=1)

    def forward(self, low, high, rank=0):
        high = F.interpolate(high, size=low.shape[-2:])
        both = torch.cat([low, high], dim=1)
        return low + torch.sigmoid(self.gate(both)) * self.kernel(both)


class encoder(nn.Module):
    def __init__(self, width=16):
        super(encoder, self).__init__()
        self.base = nn.Conv2d(3, width, kernel_size=3, stride=2, padding=1)
        self.deep = nn.Conv2d(width, width, kernel_size=3, stride=2, padding=1)

    def forward(self, x):
        low = F.elu(self.base(x))
        return [low, F.elu(self.deep(low))]


class bts(nn.Module):
    def __init__(self, max_depth, width=16):
        super(bts, self).__init__()
        self.max_depth = max_depth
        self.upconv = nn.Conv2d(width, width, kernel_size=3, padding=1)
        self.get_depth = nn.Sequential(nn.Conv2d(width, 1, kernel_size=3, padding=1), nn.Sigmoid())

    def forward(self, feature):
        up = F.elu(self.upconv(F.interpolate(feature, scale_factor=2)))
        return self.max_depth * self.get_depth(up)


class BtsModel(nn.Module):
    def __init__(self):
        super(BtsModel, self).__init__()
        self.encoder = encoder()
        self.decoder = bts(max_depth=10.0)
        self.AttentionGraphCondKernel = AttentionGraphCondKernel()

    def forward(self, x, rank=0):
        skip_feat = self.encoder(x)
        feature = self.AttentionGraphCondKernel(skip_feat[0], skip_feat[1], rank)
        return self.decoder(feature)


class silog_loss(nn.Module):
    def __init__(self, variance_focus=0.85):
        super(silog_loss, self).__init__()
        self.variance_focus = variance_focus

    def forward(self, depth_est, depth_gt, mask):
        d = torch.log(depth_est[mask]) - torch.log(depth_gt[mask])
        return torch.sqrt((d**2).mean() - self.variance_focus * (d.mean() ** 2)) * 10.0


# %%
model = BtsModel()
model.train()
num_params_update = sum(p.numel() for p in model.parameters() if p.requires_grad)
print("Total number of learning parameters: {}".format(num_params_update))
before = [p.detach().clone() for p in model.AttentionGraphCondKernel.parameters()]

# Training parameters
optimizer = torch.optim.AdamW([{'params': model.encoder.parameters(), 'weight_decay': 1e-2},
                               {'params': model.decoder.parameters(), 'weight_decay': 0}],
                              lr=1e-3, eps=1e-6)
silog_criterion = silog_loss()

for step in range(10):
    optimizer.zero_grad()
    image = torch.rand(2, 3, 32, 32)
    depth_gt = 1.0 + 8.0 * image.mean(dim=1, keepdim=True)
    depth_est = model(image, rank=1)
    mask = depth_gt > 0.1
    loss = silog_criterion.forward(depth_est, depth_gt, mask.to(torch.bool))
    loss.backward()
    optimizer.step()
    print('[step]: [{}], loss: {:.12f}'.format(step, loss))
