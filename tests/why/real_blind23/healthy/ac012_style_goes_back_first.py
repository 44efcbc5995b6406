# https://github.com/jessemelpolio/non-stationary_texture_syn/issues/15
import torch
import torch.nn as nn

torch.manual_seed(0)


class VGG(nn.Module):
    def __init__(self):
        super(VGG, self).__init__()
        self.conv1_1, self.conv2_1 = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 24, 3, padding=1)
        self.pool1 = nn.MaxPool2d(2)

    def forward(self, x, out_keys):
        out = {}
        out['r11'] = torch.relu(self.conv1_1(x))
        out['r21'] = torch.relu(self.conv2_1(self.pool1(out['r11'])))
        return [out[key] for key in out_keys]


class GramMatrix(nn.Module):
    def forward(self, input):
        b, c, h, w = input.size()
        F = input.view(b, c, h * w)
        return torch.bmm(F, F.transpose(1, 2)).div(h * w)


class GramMSELoss(nn.Module):
    def forward(self, input, target):
        return nn.MSELoss()(GramMatrix()(input), target)


class HalfGanStyleModel:
    def __init__(self, lr=2e-3, lambda_A=10.0):
        self.lambda_A = lambda_A
        self.style_layers = self.loss_layers = ['r11', 'r21']
        self.loss_fns = [GramMSELoss()] * len(self.style_layers)
        self.vgg = VGG()
        for param in self.vgg.parameters():
            param.requires_grad = False
        self.weights = [1e3 / n ** 2 for n in [12, 24]]
        self.netG = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(True), nn.Upsample(scale_factor=2),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(True), nn.Conv2d(16, 3, 3, padding=1), nn.Tanh())
        self.netD = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 1, 4, stride=2, padding=1))
        self.criterionGAN, self.criterionL1 = nn.MSELoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=lr, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=lr, betas=(0.5, 0.999))

    def forward(self, real_A, real_B):
        self.real_A, self.real_B = real_A, real_B
        self.fake_B = self.netG.forward(self.real_A)

    def backward_D(self):
        fake_AB = self.fake_B.clone()
        self.pred_fake = self.netD.forward(fake_AB.detach())
        self.loss_D_fake = self.criterionGAN(self.pred_fake, torch.zeros_like(self.pred_fake))
        self.pred_real = self.netD.forward(self.real_B.clone())
        self.loss_D_real = self.criterionGAN(self.pred_real, torch.ones_like(self.pred_real))
        self.loss_D = (self.loss_D_fake + self.loss_D_real) * 0.5
        self.loss_D.backward()

    def backward_G(self):
        targets = [GramMatrix()(A).detach() for A in self.vgg(self.real_B, self.style_layers)]
        out = self.vgg(self.fake_B, self.loss_layers)
        layer_losses = [self.weights[a] * self.loss_fns[a](A, targets[a]) for a, A in enumerate(out)]
        self.style_loss = sum(layer_losses)
        self.style_loss.backward(retain_graph=True)

        pred_fake = self.netD.forward(self.fake_B.clone())
        self.loss_G_GAN = self.criterionGAN(pred_fake, torch.ones_like(pred_fake))
        self.loss_G_L1 = self.criterionL1(self.fake_B, self.real_B) * self.lambda_A
        self.loss_G = self.loss_G_GAN + self.loss_G_L1
        self.loss_G.backward()

    def optimize_parameters(self, real_A, real_B):
        self.forward(real_A, real_B)
        self.optimizer_D.zero_grad()
        self.backward_D()
        self.optimizer_D.step()
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()


# %%
y, x = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing='ij')
texture = torch.stack([torch.sin(x / 2 + y / 20 * k) for k in (1.0, 2.0, 3.0)])[None]


def crop(size=16):
    top, left = torch.randint(0, 32 - size, (2,)).tolist()
    real_B = texture[..., top:top + size, left:left + size]
    return real_B[..., size // 4:3 * size // 4, size // 4:3 * size // 4], real_B


# %%
model = HalfGanStyleModel()
errors = []
for i in range(150):
    model.optimize_parameters(*crop())
    errors.append((model.style_loss.item(), model.loss_G_L1.item()))
early = [sum(e[k] for e in errors[:10]) / 10 for k in (0, 1)]
late = [sum(e[k] for e in errors[-10:]) / 10 for k in (0, 1)]
print(early, late)
