# https://github.com/leftthomas/SRGAN/issues/94
import torch
from torch import nn, optim

torch.manual_seed(0)
NUM_EPOCHS = 10
lr_images = torch.rand(64, 3, 8, 8)
hr_images = nn.functional.interpolate(lr_images, scale_factor=2, mode='bilinear')
train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(lr_images, hr_images), batch_size=4)

netG = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2))
netD = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 1, 1))
mse = nn.MSELoss()

optimizerG = optim.Adam(netG.parameters(), lr=1e-3)
optimizerD = optim.Adam(netD.parameters(), lr=1e-3)
schedulerG = optim.lr_scheduler.StepLR(optimizerG, step_size=NUM_EPOCHS // 2, gamma=0.1)
schedulerD = optim.lr_scheduler.StepLR(optimizerD, step_size=NUM_EPOCHS // 2, gamma=0.1)

# %%
results = []
for epoch in range(1, NUM_EPOCHS + 1):
    running = 0.0
    for data, target in train_loader:
        # (1) Update D network
        fake_img = netG(data)
        netD.zero_grad()
        real_out = torch.sigmoid(netD(target)).mean()
        fake_out = torch.sigmoid(netD(fake_img.detach())).mean()
        d_loss = 1 - real_out + fake_out
        d_loss.backward()
        optimizerD.step()

        # (2) Update G network
        netG.zero_grad()
        fake_out = torch.sigmoid(netD(fake_img)).mean()
        g_loss = mse(fake_img, target) + 1e-3 * (1 - fake_out)
        g_loss.backward()
        optimizerG.step()
        running += g_loss.item()

        schedulerD.step()
        schedulerG.step()

    results.append(running / len(train_loader))
    print('[%d/%d] Loss_G: %.4f' % (epoch, NUM_EPOCHS, results[-1]))
