# https://github.com/NVIDIA/pix2pixHD/issues/237
import torch
import torch.nn as nn

torch.manual_seed(0)


class GlobalGenerator(nn.Module):
    def __init__(self, label_nc=4):
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(label_nc, 24, 3, padding=1), nn.InstanceNorm2d(24), nn.ReLU(),
                                   nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 3, 3, padding=1), nn.Tanh())

    def forward(self, input):
        return self.model(input)


class NLayerDiscriminator(nn.Module):
    def __init__(self, input_nc):
        super().__init__()
        self.model0 = nn.Sequential(nn.Conv2d(input_nc, 16, 4, stride=2, padding=2), nn.LeakyReLU(0.2, True))
        self.model1 = nn.Sequential(nn.Conv2d(16, 32, 4, padding=2), nn.InstanceNorm2d(32), nn.LeakyReLU(0.2, True))
        self.model2 = nn.Sequential(nn.Conv2d(32, 1, 4, padding=2))

    def forward(self, input):
        res = [input]
        for model in (self.model0, self.model1, self.model2):
            res.append(model(res[-1]))
        return res[1:]


class MultiscaleDiscriminator(nn.Module):
    def __init__(self, input_nc, num_D=2):
        super().__init__()
        self.nets = nn.ModuleList([NLayerDiscriminator(input_nc) for _ in range(num_D)])
        self.downsample = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)

    def forward(self, input):
        result = []
        for net in self.nets:
            result.append(net(input))
            input = self.downsample(input)
        return result


def gan_loss(preds, target_is_real):
    return sum(nn.functional.mse_loss(p[-1], torch.full_like(p[-1], float(target_is_real))) for p in preds)


class Pix2PixHDModel(nn.Module):
    def __init__(self, num_D=2, lambda_feat=10.0):
        super().__init__()
        self.netG, self.netD = GlobalGenerator(), MultiscaleDiscriminator(4 + 3, num_D)
        self.num_D, self.lambda_feat = num_D, lambda_feat
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def forward(self, label, real_image):
        fake_image = self.netG(label)
        loss_D_fake = gan_loss(self.netD(torch.cat([label, fake_image.detach()], 1)), False)
        pred_real = self.netD(torch.cat([label, real_image], 1))
        loss_D_real = gan_loss(pred_real, True)
        pred_fake = self.netD(torch.cat([label, fake_image], 1))
        loss_G_GAN = gan_loss(pred_fake, True)
        loss_G_GAN_Feat = 0
        for i in range(self.num_D):
            for j in range(len(pred_fake[i]) - 1):
                loss_G_GAN_Feat += 4.0 / 3 / self.num_D * nn.functional.l1_loss(pred_fake[i][j], pred_real[i][j].detach())
        return loss_G_GAN, loss_G_GAN_Feat * self.lambda_feat, loss_D_real, loss_D_fake, fake_image


# %%
palette = torch.tensor([[.8, -.5, 0.], [-.6, .7, -.2], [0., -.3, .8], [-.8, -.8, -.8]])
model = Pix2PixHDModel()
distances = []

# %%
for i in range(60):
    segments = torch.randint(0, 4, (8, 3, 3)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    label = nn.functional.one_hot(segments, 4).permute(0, 3, 1, 2).float()
    real = palette[segments].permute(0, 3, 1, 2)
    g_gan, g_feat, d_real, d_fake, generated = model(label, real)
    loss_D = (d_fake + d_real) * 0.5
    loss_G = g_gan + g_feat
    model.optimizer_G.zero_grad()
    loss_G.backward()
    model.optimizer_G.step()
    model.optimizer_D.zero_grad()
    loss_D.backward()
    model.optimizer_D.step()
    distances.append((generated.detach() - real).abs().mean().item())
print(distances[0], distances[-1], loss_D.item())
assert distances[-1] < 0.5 * distances[0]
assert all(p.grad is not None for p in model.parameters())
