# https://github.com/brownvc/R3GAN/issues/12
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AdversarialTraining:
    def __init__(self, generator, discriminator):
        self.Generator, self.Discriminator = generator, discriminator

    @staticmethod
    def ZeroCenteredGradientPenalty(samples, critics):
        gradient, = torch.autograd.grad(outputs=critics.sum(), inputs=samples, create_graph=True)
        return gradient.square().sum(1)

    def AccumulateGeneratorGradients(self, noise, real):
        fake = self.Generator(noise)
        relativistic = self.Discriminator(fake) - self.Discriminator(real.detach())
        adversarial_loss = F.softplus(-relativistic)
        adversarial_loss.mean().backward()
        return adversarial_loss.detach()

    def AccumulateDiscriminatorGradients(self, noise, real, gamma):
        real = real.detach().requires_grad_(True)
        fake = self.Generator(noise).detach().requires_grad_(True)
        real_logits, fake_logits = self.Discriminator(real), self.Discriminator(fake)
        r1 = self.ZeroCenteredGradientPenalty(real, real_logits)
        r2 = self.ZeroCenteredGradientPenalty(fake, fake_logits)
        adversarial_loss = F.softplus(-(real_logits - fake_logits))
        loss = adversarial_loss + (gamma / 2) * (r1 + r2).unsqueeze(1)
        loss.mean().backward()
        return adversarial_loss.detach(), r1.detach(), r2.detach()


def mlp(d_in, d_out):
    return nn.Sequential(nn.Linear(d_in, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, d_out))


def draw_real(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.03 * torch.randn(n, 2)


def off_circle(generator):
    with torch.no_grad():
        return (generator(torch.randn(1000, 8)).norm(dim=1) - 1).abs().mean().item()


# %%
G, D = mlp(8, 2), mlp(2, 1)
G_ema = copy.deepcopy(G).eval().requires_grad_(False)
trainer = AdversarialTraining(G, D)
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.99))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.99))
before = off_circle(G)

# %%
for step in range(400):
    D.requires_grad_(True)
    G.requires_grad_(False)
    d_opt.zero_grad()
    d_loss, r1, r2 = trainer.AccumulateDiscriminatorGradients(torch.randn(128, 8), draw_real(128), gamma=0.1)
    d_opt.step()
    D.requires_grad_(False)
    G.requires_grad_(True)
    g_opt.zero_grad()
    g_loss = trainer.AccumulateGeneratorGradients(torch.randn(128, 8), draw_real(128))
    g_opt.step()
    with torch.no_grad():
        for p_ema, p in zip(G_ema.parameters(), G.parameters()):
            p_ema.copy_(p.lerp(p_ema, 0.98))
after = off_circle(G_ema)
print(before, after, r1.mean().item(), r2.mean().item())
assert all(p.grad is not None for p in [*G.parameters(), *D.parameters()])
assert after < 0.5 * before and after < 0.3
