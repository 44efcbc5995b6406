# https://github.com/poppinace/indexnet_matting/issues/35
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class hlMobileNetV2UNet(nn.Module):
    def __init__(self, freeze_bn=True):
        super().__init__()
        self.layer0 = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.layer1 = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.pred = nn.Conv2d(8, 1, 3, padding=1)
        if freeze_bn:
            self.freeze_bn()

    def freeze_bn(self):
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()

    def forward(self, x):
        x = self.layer1(self.layer0(x))
        return F.interpolate(self.pred(x), scale_factor=2, mode="nearest")


def train(net, trainloader, optimizer):
    net.train()
    for image, target in trainloader:
        output = net(image)
        loss = torch.sqrt((output - target) ** 2 + 1e-6).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())


# %%
net = hlMobileNetV2UNet(freeze_bn=True)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
mean_before = net.layer0[1].running_mean.clone()

# %%
trainloader = [(torch.rand(2, 4, 8, 8), torch.rand(2, 1, 8, 8)) for _ in range(3)]
for epoch in range(2):
    train(net, trainloader, optimizer)
