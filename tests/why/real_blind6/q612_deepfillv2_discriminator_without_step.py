# https://github.com/zhaoyuzhi/deepfillv2/issues/6
import torch
import torch.nn as nn

torch.manual_seed(0)


class GatedGenerator(nn.Module):
    def __init__(self):
        super(GatedGenerator, self).__init__()
        self.feature = nn.Conv2d(4, 8, 3, 1, 1)
        self.gate = nn.Conv2d(4, 8, 3, 1, 1)
        self.out = nn.Conv2d(8, 3, 3, 1, 1)

    def forward(self, img, mask):
        x = torch.cat((img * (1 - mask) + mask, mask), 1)
        return torch.tanh(self.out(self.feature(x) * torch.sigmoid(self.gate(x))))


class PatchDiscriminator(nn.Module):
    def __init__(self):
        super(PatchDiscriminator, self).__init__()
        self.block1 = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1), nn.LeakyReLU(0.2))
        self.block2 = nn.Conv2d(8, 1, 3, 2, 1)

    def forward(self, img, mask):
        return self.block2(self.block1(torch.cat((img, mask), 1)))


generator, discriminator = GatedGenerator(), PatchDiscriminator()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
L1Loss = nn.L1Loss()
d_before = discriminator.block1[0].weight.detach().clone()
g_before = generator.out.weight.detach().clone()


# %%
for epoch in range(2):
    for batch_idx in range(4):
        img = torch.rand(4, 3, 16, 16)
        mask = (torch.rand(4, 1, 16, 16) > 0.7).float()

        ### Train Discriminator
        optimizer_d.zero_grad()
        out = generator(img, mask)
        out_wholeimg = img * (1 - mask) + out * mask
        fake_scalar = discriminator(out_wholeimg.detach(), mask)
        true_scalar = discriminator(img, mask)
        loss_D = 0.5 * (torch.relu(1 + fake_scalar).mean() + torch.relu(1 - true_scalar).mean())
        loss_D.backward()

        ### Train Generator
        optimizer_g.zero_grad()
        fake_scalar = discriminator(out_wholeimg, mask)
        GAN_Loss = -torch.mean(fake_scalar)
        MaskL1Loss = L1Loss(out_wholeimg, img)
        loss = 10 * MaskL1Loss + GAN_Loss
        loss.backward()
        optimizer_g.step()
        print("[Epoch %d] [Batch %d] [D loss: %.4f] [G loss: %.4f]" % (epoch, batch_idx, loss_D.item(), GAN_Loss.item()))
