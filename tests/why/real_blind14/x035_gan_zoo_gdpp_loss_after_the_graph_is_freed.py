# https://github.com/facebookresearch/pytorch_GAN_zoo/issues/83
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def GDPPLoss(phiFake, phiReal, backward=True):
    def compute_diversity(phi):
        phi = F.normalize(phi, p=2, dim=1)
        return torch.linalg.eigvalsh(torch.mm(phi, phi.t()))

    gdppLoss = F.mse_loss(target=compute_diversity(phiReal), input=compute_diversity(phiFake))
    if backward:
        gdppLoss.backward(retain_graph=True)
    return gdppLoss.item()


class DNet(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16))
        self.decisionLayer = nn.Linear(16, 1)

    def forward(self, x, getFeature=False):
        x = self.body(x)
        out = self.decisionLayer(x)
        return (out, x) if getFeature else out


class BaseGAN:
    def __init__(self, latent=4, dim=12):
        self.netG, self.netD = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, dim)), DNet(dim)
        self.optimizerG = torch.optim.Adam(self.netG.parameters(), lr=1e-3)
        self.optimizerD = torch.optim.Adam(self.netD.parameters(), lr=1e-3)

    def optimizeParameters(self, real_input):
        self.optimizerD.zero_grad()
        fake = self.netG(torch.randn(len(real_input), 4)).detach()
        lossD = self.netD(fake).mean() - self.netD(real_input).mean()
        lossD.backward()
        self.optimizerD.step()

        self.optimizerG.zero_grad()
        self.optimizerD.zero_grad()
        predFakeG = self.netG(torch.randn(len(real_input), 4))
        predFakeD, phiGFake = self.netD(predFakeG, True)
        lossGFake = -predFakeD.mean()
        lossGFake.backward()
        phiDReal = self.netD(real_input, True)[1]
        lossGDPP = GDPPLoss(phiGFake, phiDReal)
        self.optimizerG.step()
        return lossD.item(), lossGFake.item(), lossGDPP


# %%
gan = BaseGAN()
for step in range(3):
    print(gan.optimizeParameters(torch.randn(8, 12)))
