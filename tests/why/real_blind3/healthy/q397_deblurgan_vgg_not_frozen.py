# https://github.com/KupynOrest/DeblurGAN/issues/77
import torch
import torch.nn as nn

torch.manual_seed(0)


class VGG19(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))


class PerceptualLoss():
    def contentFunc(self):
        conv_3_3_layer = 6
        cnn = VGG19().features
        model = nn.Sequential()
        for i, layer in enumerate(list(cnn)):
            model.add_module(str(i), layer)
            if i == conv_3_3_layer:
                break
        return model

    def __init__(self, loss):
        self.criterion = loss
        self.contentFunc = self.contentFunc()

    def get_loss(self, fakeIm, realIm):
        f_fake = self.contentFunc.forward(fakeIm)
        f_real = self.contentFunc.forward(realIm)
        f_real_no_grad = f_real.detach()
        return self.criterion(f_fake, f_real_no_grad)


class ResnetGenerator(nn.Module):
    def __init__(self, ngf=8):
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(3, ngf, 3, padding=1), nn.InstanceNorm2d(ngf), nn.ReLU(), nn.Conv2d(ngf, 3, 3, padding=1))

    def forward(self, input):
        return torch.clamp(input + torch.tanh(self.model(input)), min=-1, max=1)


# %%
netG = ResnetGenerator()
contentLoss = PerceptualLoss(nn.MSELoss())
optimizer_G = torch.optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.999))
vgg_before = [p.detach().clone() for p in contentLoss.contentFunc.parameters()]

# %%
for i in range(3):
    real_A, real_B = torch.rand(2, 3, 8, 8) * 2 - 1, torch.rand(2, 3, 8, 8) * 2 - 1
    fake_B = netG(real_A)
    loss_G_Content = contentLoss.get_loss(fake_B, real_B) * 100
    optimizer_G.zero_grad()
    loss_G_Content.backward()
    optimizer_G.step()
    print(i, 'G_L1', loss_G_Content.item())
