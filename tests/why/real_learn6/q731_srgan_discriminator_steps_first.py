# https://github.com/leftthomas/SRGAN/issues/89
import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(), nn.Conv2d(8, 3, 3, padding=1))

    def forward(self, x):
        return (torch.tanh(self.net(x)) + 1) / 2


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(8, 16, kernel_size=1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, kernel_size=1),
        )

    def forward(self, x):
        return torch.sigmoid(self.net(x).view(x.size(0)))


# %%
netG, netD = Generator(), Discriminator()
optimizerG = torch.optim.Adam(netG.parameters())
optimizerD = torch.optim.Adam(netD.parameters())
train_bar = [(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)) for _ in range(2)]

# %%
for data, target in train_bar:
    real_img, z = target, data
    fake_img = netG(z)

    netD.zero_grad()
    real_out = netD(real_img).mean()
    fake_out = netD(fake_img).mean()
    d_loss = 1 - real_out + fake_out
    d_loss.backward(retain_graph=True)
    optimizerD.step()

    netG.zero_grad()
    g_loss = torch.mean(1 - fake_out) + nn.functional.mse_loss(fake_img, real_img)
    g_loss.backward()
    optimizerG.step()
