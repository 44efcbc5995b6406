# https://github.com/eriklindernoren/PyTorch-GAN/issues/142
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, dim=8, style_dim=4):
        super(Encoder, self).__init__()
        self.content_encoder = nn.Sequential(nn.Conv2d(3, dim, 3, 1, 1), nn.InstanceNorm2d(dim), nn.ReLU(inplace=True),
                                             nn.Conv2d(dim, dim, 4, 2, 1), nn.InstanceNorm2d(dim), nn.ReLU(inplace=True))
        self.style_encoder = nn.Sequential(nn.Conv2d(3, dim, 4, 2, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
                                           nn.Conv2d(dim, style_dim, 1))

    def forward(self, x):
        return self.content_encoder(x), self.style_encoder(x)


class AdaptiveInstanceNorm2d(nn.Module):
    def forward(self, x, params):
        std, mean = params.unsqueeze(-1).unsqueeze(-1).chunk(2, 1)
        return F.instance_norm(x) * (1 + std) + mean


class Decoder(nn.Module):
    def __init__(self, dim=8, style_dim=4):
        super(Decoder, self).__init__()
        self.mlp = nn.Sequential(nn.Flatten(), nn.Linear(style_dim, 16), nn.ReLU(inplace=True), nn.Linear(16, 2 * dim))
        self.conv, self.norm = nn.Conv2d(dim, dim, 3, 1, 1), AdaptiveInstanceNorm2d()
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(dim, dim, 5, 1, 2), nn.ReLU(inplace=True),
                                nn.Conv2d(dim, 3, 3, 1, 1), nn.Tanh())

    def forward(self, content_code, style_code):
        x = F.relu(self.norm(self.conv(content_code), self.mlp(style_code)))
        return self.up(x)


class MultiDiscriminator(nn.Module):
    def __init__(self, dim=8):
        super(MultiDiscriminator, self).__init__()
        self.models = nn.ModuleList(nn.Sequential(nn.Conv2d(3, dim, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True),
                                                  nn.Conv2d(dim, 1, 3, 1, 1)) for _ in range(2))
        self.downsample = nn.AvgPool2d(3, stride=2, padding=[1, 1], count_include_pad=False)

    def compute_loss(self, x, gt):
        """Computes the MSE between model output and scalar gt"""
        return sum([torch.mean((out - gt) ** 2) for out in self.forward(x)])

    def forward(self, x):
        outputs = []
        for m in self.models:
            outputs.append(m(x))
            x = self.downsample(x)
        return outputs


# %%
criterion_recon = torch.nn.L1Loss()
Enc1, Dec1, Enc2, Dec2 = Encoder(), Decoder(), Encoder(), Decoder()
D1, D2 = MultiDiscriminator(), MultiDiscriminator()
lambda_gan, lambda_id, lambda_style, lambda_cont = 1, 10, 1, 1
optimizer_G = torch.optim.Adam(itertools.chain(Enc1.parameters(), Dec1.parameters(), Enc2.parameters(), Dec2.parameters()),
                               lr=2e-3, betas=(0.5, 0.999))
optimizer_D1 = torch.optim.Adam(D1.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_D2 = torch.optim.Adam(D2.parameters(), lr=2e-3, betas=(0.5, 0.999))
valid, fake = 1, 0
content_before = Enc1.content_encoder[0].weight.detach().clone()

# %%
history = []
for i in range(60):
    base = F.interpolate(torch.rand(4, 3, 4, 4) * 2 - 1, size=16, mode='bilinear')
    X1, X2 = base, -base.flip(0).roll(1, 1)
    style_1, style_2 = torch.randn(4, 4, 1, 1), torch.randn(4, 4, 1, 1)

    optimizer_G.zero_grad()
    # Get shared latent representation
    c_code_1, s_code_1 = Enc1(X1)
    c_code_2, s_code_2 = Enc2(X2)
    # Reconstruct images
    X11, X22 = Dec1(c_code_1, s_code_1), Dec2(c_code_2, s_code_2)
    # Translate images
    X21, X12 = Dec1(c_code_2, style_1), Dec2(c_code_1, style_2)
    # Cycle translation
    c_code_21, s_code_21 = Enc1(X21)
    c_code_12, s_code_12 = Enc2(X12)

    loss_GAN_1, loss_GAN_2 = lambda_gan * D1.compute_loss(X21, valid), lambda_gan * D2.compute_loss(X12, valid)
    loss_ID_1, loss_ID_2 = lambda_id * criterion_recon(X11, X1), lambda_id * criterion_recon(X22, X2)
    loss_s_1, loss_s_2 = lambda_style * criterion_recon(s_code_21, style_1), lambda_style * criterion_recon(s_code_12, style_2)
    loss_c_1 = lambda_cont * criterion_recon(c_code_12, c_code_1.detach())
    loss_c_2 = lambda_cont * criterion_recon(c_code_21, c_code_2.detach())
    loss_G = loss_GAN_1 + loss_GAN_2 + loss_ID_1 + loss_ID_2 + loss_s_1 + loss_s_2 + loss_c_1 + loss_c_2
    loss_G.backward()
    optimizer_G.step()

    optimizer_D1.zero_grad()
    loss_D1 = D1.compute_loss(X1, valid) + D1.compute_loss(X21.detach(), fake)
    loss_D1.backward()
    optimizer_D1.step()

    optimizer_D2.zero_grad()
    loss_D2 = D2.compute_loss(X2, valid) + D2.compute_loss(X12.detach(), fake)
    loss_D2.backward()
    optimizer_D2.step()
    history.append((loss_ID_1 + loss_ID_2).item())
print(history[0], history[-1], loss_c_1.item(), loss_D1.item())
