# https://github.com/leftthomas/SRGAN/issues/101
import torch
from torch import nn, optim

torch.manual_seed(0)
target_all = torch.rand(16, 3, 8, 8)
data_all = nn.functional.avg_pool2d(target_all, 2)

netG = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.PixelShuffle(2))
netD = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 1, 1),
                     nn.Flatten(), nn.Sigmoid())
mse_loss = nn.MSELoss()


def generator_criterion(out_labels, out_images, target_images):
    adversarial_loss = torch.mean(1 - out_labels)
    image_loss = mse_loss(out_images, target_images)
    return image_loss + 0.001 * adversarial_loss


optimizerG = optim.Adam(netG.parameters(), lr=1e-3)
optimizerD = optim.Adam(netD.parameters(), lr=1e-3)

# %%
for epoch in range(2):
    running_results = {'batch_sizes': 0, 'd_loss': 0, 'g_loss': 0}
    netG.train()
    netD.train()
    for start in range(0, 16, 4):
        data, target = data_all[start:start + 4], target_all[start:start + 4]
        running_results['batch_sizes'] += len(data)

        # (1) Update D network: maximize D(x)-1-D(G(z))
        z = data
        fake_img = netG(z)
        netD.zero_grad()
        real_out = netD(target).mean()
        fake_out = netD(fake_img).mean()
        d_loss = 1 - real_out + fake_out
        d_loss.backward(retain_graph=True)
        optimizerD.step()

        # (2) Update G network: minimize 1-D(G(z)) + Image Loss
        netG.zero_grad()
        fake_img = netG(z)
        fake_out = netD(fake_img).mean()
        g_loss = generator_criterion(fake_out, fake_img, target)
        g_loss.backward()
        gradient = netG[0].weight.grad.clone()

        fake_img = netG(z)
        fake_out = netD(fake_img).mean()
        optimizerG.step()

        running_results['g_loss'] += g_loss.item() * len(data)
        running_results['d_loss'] += d_loss.item() * len(data)
    print(epoch, running_results)
