# https://github.com/ayu-22/BPPNet-Back-Projected-Pyramid-Network/issues/6
import torch
import torch.nn as nn

torch.manual_seed(0)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.LeakyReLU(0.2))
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 8, 4, stride=2, padding=1), nn.ReLU())
        self.out = nn.Conv2d(11, 3, 3, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.out(torch.cat([self.up(self.down(x)), x], dim=1)))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(3, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.2))
        self.conv2 = nn.Sequential(nn.Conv2d(8, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2))
        self.conv3 = nn.Conv2d(16, 1, 4, padding=1)

    def forward(self, x):
        feature = self.conv2(self.conv1(x))
        return torch.sigmoid(self.conv3(feature)), feature


class DUNetModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet, self.discriminator = UNet(), Discriminator()
        self.criterion, self.adversarial = nn.L1Loss(), nn.BCELoss()
        self.unet_optimizer = torch.optim.Adam(self.unet.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.dis_optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def process(self, haze_images, dehaze_images):
        self.unet_optimizer.zero_grad()
        self.dis_optimizer.zero_grad()
        outputs = self.unet(haze_images)

        # discriminator loss
        dis_real, _ = self.discriminator(dehaze_images)
        dis_fake, _ = self.discriminator(outputs.detach())
        dis_real_loss = self.adversarial(dis_real, torch.ones_like(dis_real))
        dis_fake_loss = self.adversarial(dis_fake, torch.zeros_like(dis_fake))
        dis_loss = (dis_real_loss + dis_fake_loss) / 2

        # unet loss
        gen_fake, _ = self.discriminator(outputs)
        unet_gan_loss = self.adversarial(gen_fake, torch.ones_like(gen_fake))
        unet_loss = self.criterion(outputs, dehaze_images) + 0.1 * unet_gan_loss
        return unet_loss, dis_loss

    def backward(self, unet_loss, dis_loss):
        dis_loss.backward(retain_graph=True)
        self.dis_optimizer.step()

        unet_loss.backward()
        self.unet_optimizer.step()


def train_loader(n=6):
    for _ in range(n):
        clear = torch.rand(4, 3, 16, 16)
        yield 0.5 * clear + 0.5 * torch.rand(4, 1, 1, 1), clear


# %%
DUNet = DUNetModel()
for epoch in range(2):
    for i, (haze_images, dehaze_images) in enumerate(train_loader()):
        unet_loss, dis_loss = DUNet.process(haze_images, dehaze_images)
        DUNet.backward(unet_loss, dis_loss)
    print("Epoch:", epoch + 1, "unet loss:", unet_loss.item(), "dis loss:", dis_loss.item())
