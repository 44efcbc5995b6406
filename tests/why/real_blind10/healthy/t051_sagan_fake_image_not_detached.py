# https://github.com/heykeetae/Self-Attention-GAN/issues/48
import torch
import torch.nn as nn

torch.manual_seed(0)
batch_size, z_dim = 16, 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Sequential(nn.Linear(z_dim, 32), nn.ReLU())
        self.last = nn.Sequential(nn.Linear(32, 12), nn.Tanh())

    def forward(self, z):
        return self.last(self.l1(z))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(12, 32)), nn.LeakyReLU(0.1))
        self.last = nn.Linear(32, 1)

    def forward(self, x):
        return self.last(self.l1(x)).squeeze()


# %%
G, D = Generator(), Discriminator()
g_optimizer = torch.optim.Adam(G.parameters(), 1e-4, (0.0, 0.9))
d_optimizer = torch.optim.Adam(D.parameters(), 4e-4, (0.0, 0.9))
data = torch.rand(64, 12) * 2 - 1


def reset_grad():
    d_optimizer.zero_grad()
    g_optimizer.zero_grad()


# %%
for step in range(4):
    # ================== Train D ================== #
    real_images = data[step * batch_size:(step + 1) * batch_size]
    d_loss_real = torch.relu(1.0 - D(real_images)).mean()
    z = torch.randn(batch_size, z_dim)
    fake_images = G(z)
    d_out_fake = D(fake_images)
    d_loss_fake = torch.relu(1.0 + d_out_fake).mean()
    before = G.l1[0].weight.detach().clone()
    d_loss = d_loss_real + d_loss_fake
    reset_grad()
    d_loss.backward()
    d_optimizer.step()
    generator_moved = not torch.equal(before, G.l1[0].weight)

    # ================== Train G and gumbel ================== #
    z = torch.randn(batch_size, z_dim)
    g_out_fake = D(G(z))
    g_loss_fake = - g_out_fake.mean()
    reset_grad()
    g_loss_fake.backward()
    g_optimizer.step()
    print(step, d_loss_real.item(), g_loss_fake.item())
