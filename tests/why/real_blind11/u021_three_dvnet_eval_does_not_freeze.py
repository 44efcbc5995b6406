# https://github.com/alexrich021/3dvnet/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 1, 1)
        self.bn = nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class MVSNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.feat_extractor = Backbone()
        self.feat_shrinker = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        return self.feat_shrinker(self.feat_extractor(x))


class PL3DVNet(nn.Module):
    def __init__(self, finetune=False):
        super().__init__()
        self.finetune = finetune
        self.mvsnet = MVSNet()
        self.refiner = nn.Sequential(nn.Conv2d(4, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 1, 1))

    def configure_optimizers(self):
        return torch.optim.Adam([
            {'params': self.mvsnet.parameters()},
            {'params': self.refiner.parameters()},
        ], lr=1e-3)

    def training_step(self, batch):
        if not self.finetune:
            # freeze the pretrained backbone
            self.mvsnet.feat_extractor.eval()
        images, depth_gt = batch
        depth = self.refiner(self.mvsnet(images))
        return F.l1_loss(depth, depth_gt)


# %%
net = PL3DVNet()
optimizer = net.configure_optimizers()
batch = torch.randn(2, 3, 16, 16), torch.rand(2, 1, 16, 16)
before = net.mvsnet.feat_extractor.conv.weight.detach().clone()

# %%
net.train()
for step in range(5):
    loss = net.training_step(batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
print((net.mvsnet.feat_extractor.conv.weight - before).abs().max())
