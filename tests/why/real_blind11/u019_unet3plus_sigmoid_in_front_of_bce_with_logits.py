# https://github.com/avBuffer/UNet3plus_pth/issues/23
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class unetConv2(nn.Module):
    def __init__(self, in_size, out_size):
        super(unetConv2, self).__init__()
        self.conv = nn.Sequential(nn.Conv2d(in_size, out_size, 3, 1, 1), nn.BatchNorm2d(out_size),
                                  nn.ReLU(inplace=True))

    def forward(self, x):
        return self.conv(x)


class UNet3Plus(nn.Module):
    def __init__(self, n_channels=3, n_classes=1):
        super(UNet3Plus, self).__init__()
        self.n_channels, self.n_classes = n_channels, n_classes
        self.conv1 = unetConv2(n_channels, 8)
        self.maxpool1 = nn.MaxPool2d(kernel_size=2)
        self.conv2 = unetConv2(8, 16)
        self.hd2_UT_hd1 = nn.Upsample(scale_factor=2, mode='bilinear')
        self.conv1d = unetConv2(24, 8)
        self.outconv1 = nn.Conv2d(8, n_classes, 3, padding=1)

    def forward(self, inputs):
        h1 = self.conv1(inputs)
        h2 = self.conv2(self.maxpool1(h1))
        hd1 = self.conv1d(torch.cat((h1, self.hd2_UT_hd1(h2)), 1))
        d1 = self.outconv1(hd1)
        return torch.sigmoid(d1)


# %%
net = UNet3Plus(n_channels=3, n_classes=1)
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01, weight_decay=1e-8)
criterion = nn.BCEWithLogitsLoss()
imgs = torch.randn(4, 3, 16, 16)
true_masks = (F.avg_pool2d(imgs.mean(1, keepdim=True), 3, 1, 1) > 0).float()

# %%
net.train()
for epoch in range(60):
    masks_pred = net(imgs)
    loss = criterion(masks_pred, true_masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        print(epoch, loss.item())
