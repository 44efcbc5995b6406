# https://github.com/zhaoyuzhi/DeblurGANv2-MobileNetv123-PyTorch/issues/7
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)
opt = SimpleNamespace(lr_g=1e-3, lr_d=1e-3, b1=0.5, b2=0.999, lambda_content=100.0, lambda_gan=1.0, epochs=1)


class FPNMobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))

    def forward(self, x):
        return torch.clamp(self.net(x) + x, -1, 1)


class PatchDiscriminator(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.block1 = nn.Conv2d(3, 8, 4, stride=stride, padding=1)
        self.block2 = nn.Conv2d(8, 1, 4, stride=2, padding=1)

    def forward(self, img):
        return self.block2(nn.functional.leaky_relu(self.block1(img), 0.2))


# %%
generator = FPNMobileNet()
discriminator1 = PatchDiscriminator(2)   # global
discriminator2 = PatchDiscriminator(1)   # patches
criterion_L1 = nn.L1Loss()
optimizer_G = torch.optim.Adam(generator.parameters(), lr=opt.lr_g, betas=(opt.b1, opt.b2))
optimizer_D1 = torch.optim.Adam(discriminator1.parameters(), lr=opt.lr_d, betas=(opt.b1, opt.b2))
optimizer_D2 = torch.optim.Adam(discriminator2.parameters(), lr=opt.lr_d, betas=(opt.b1, opt.b2))
dataloader = [(torch.rand(2, 3, 16, 16) * 2 - 1, torch.rand(2, 3, 16, 16) * 2 - 1) for _ in range(3)]
d1_before = copy.deepcopy(discriminator1.state_dict())

# %%
# Continue_train_WGAN
for epoch in range(opt.epochs):
    for i, (blurry_img, clean_img) in enumerate(dataloader):
        # Train the discriminators
        optimizer_D1.zero_grad()
        optimizer_D2.zero_grad()
        fake = generator(blurry_img)
        loss_D1 = -discriminator1(clean_img).mean() + discriminator1(fake.detach()).mean()
        loss_D1.backward()
        loss_D2 = -discriminator2(clean_img[:, :, 4:12, 4:12]).mean() + discriminator2(fake[:, :, 4:12, 4:12].detach()).mean()
        loss_D2.backward()

        # Train the generator
        optimizer_G.zero_grad()
        fake = generator(blurry_img)
        loss_content = criterion_L1(fake, clean_img)
        loss_gan = -discriminator1(fake).mean() - discriminator2(fake[:, :, 4:12, 4:12]).mean()
        loss = opt.lambda_content * loss_content + opt.lambda_gan * loss_gan
        loss.backward()
        optimizer_G.step()

        print("[Epoch %d/%d] [Batch %d/%d] [D Loss: %.4f %.4f] [G GAN Loss: %.4f] [Content Loss: %.4f]" % (
            epoch + 1, opt.epochs, i, len(dataloader), loss_D1.item(), loss_D2.item(), loss_gan.item(), loss_content.item()))
