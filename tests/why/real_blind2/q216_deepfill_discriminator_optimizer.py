# https://github.com/zhaoyuzhi/deepfillv2/pull/3
from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

opt = SimpleNamespace(
    epochs=1, batch_size=4, lr_g=1e-3, lr_d=1e-3, b1=0.5, b2=0.999, weight_decay=0,
    lr_decrease_epoch=10, lr_decrease_factor=0.5, perceptual_param=10, gan_param=1)


class GatedGenerator(nn.Module):
    def __init__(self):
        super(GatedGenerator, self).__init__()
        self.coarse = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ELU(), nn.Conv2d(8, 3, 3, padding=1), nn.Tanh())
        self.refinement = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ELU(), nn.Conv2d(8, 3, 3, padding=1), nn.Tanh())

    def forward(self, img, mask):
        first_out = self.coarse(torch.cat((img * (1 - mask) + mask, mask), 1))
        second_in = img * (1 - mask) + first_out * mask
        second_out = self.refinement(torch.cat((second_in, mask), 1))
        return first_out, second_out


class PatchDiscriminator(nn.Module):
    def __init__(self):
        super(PatchDiscriminator, self).__init__()
        self.block1 = nn.Sequential(nn.Conv2d(4, 8, 4, 2, 1), nn.LeakyReLU(0.2))
        self.block2 = nn.Conv2d(8, 1, 4, 2, 1)

    def forward(self, img, mask):
        return self.block2(self.block1(torch.cat((img, mask), 1)))


# %%
generator = GatedGenerator()
discriminator = PatchDiscriminator()
perceptualnet = nn.Conv2d(3, 6, 3, padding=1).requires_grad_(False)
discriminator_before = [p.detach().clone() for p in discriminator.parameters()]

# Loss functions
L1Loss = nn.L1Loss()
MSELoss = nn.MSELoss()

# Optimizers
optimizer_g = torch.optim.Adam(generator.parameters(), lr = opt.lr_g, betas = (opt.b1, opt.b2), weight_decay = opt.weight_decay)
optimizer_d = torch.optim.Adam(generator.parameters(), lr = opt.lr_d, betas = (opt.b1, opt.b2), weight_decay = opt.weight_decay)


# Learning rate decrease
def adjust_learning_rate(lr_in, optimizer, epoch, opt):
    lr = lr_in * (opt.lr_decrease_factor ** (epoch // opt.lr_decrease_epoch))
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr


trainset = TensorDataset(torch.rand(8, 3, 16, 16) * 2 - 1, (torch.rand(8, 1, 16, 16) > 0.7).float())
dataloader = DataLoader(trainset, batch_size = opt.batch_size, shuffle = True)

# %%
for epoch in range(opt.epochs):
    for batch_idx, (img, mask) in enumerate(dataloader):
        # LSGAN vectors
        valid = torch.ones(img.shape[0], 1, 4, 4)
        fake = torch.zeros(img.shape[0], 1, 4, 4)

        ### Train Discriminator
        optimizer_d.zero_grad()

        # Generator output
        first_out, second_out = generator(img, mask)
        first_out_wholeimg = img * (1 - mask) + first_out * mask
        second_out_wholeimg = img * (1 - mask) + second_out * mask

        # Fake samples, true samples
        fake_scalar = discriminator(second_out_wholeimg.detach(), mask)
        true_scalar = discriminator(img, mask)

        # Overall Loss and optimize
        loss_D = 0.5 * (MSELoss(fake_scalar, fake) + MSELoss(true_scalar, valid))
        loss_D.backward()

        ### Train Generator
        optimizer_g.zero_grad()
        first_MaskL1Loss = L1Loss(first_out_wholeimg, img)
        second_MaskL1Loss = L1Loss(second_out_wholeimg, img)

        # GAN Loss
        fake_scalar = discriminator(second_out_wholeimg, mask)
        GAN_Loss = MSELoss(fake_scalar, valid)

        # Perceptual Loss
        second_PerceptualLoss = L1Loss(perceptualnet(second_out_wholeimg), perceptualnet(img))
        loss = first_MaskL1Loss + second_MaskL1Loss + opt.perceptual_param * second_PerceptualLoss + opt.gan_param * GAN_Loss
        loss.backward()
        optimizer_g.step()

        print("\r[Epoch %d/%d] [Batch %d/%d] [D Loss: %.5f] [G Loss: %.5f]" % (
            epoch + 1, opt.epochs, batch_idx, len(dataloader), loss_D.item(), GAN_Loss.item()))

    # Learning rate decrease
    adjust_learning_rate(opt.lr_g, optimizer_g, epoch + 1, opt)
    adjust_learning_rate(opt.lr_d, optimizer_d, epoch + 1, opt)
