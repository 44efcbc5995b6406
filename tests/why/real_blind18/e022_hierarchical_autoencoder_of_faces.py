# https://github.com/GlassyWing/nvae/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def sample(mu, log_var):
    return mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)


def kl(mu, log_var):
    """To the standard normal distribution."""
    per_dimension = mu.square() + log_var.exp() - log_var - 1
    return (0.5 * per_dimension.sum(dim=1)).mean(dim=0)


def kl_2(delta_mu, delta_log_var, mu, log_var):
    """Of the residual distribution, to the one the decoder predicts."""
    per_dimension = delta_mu.square() / log_var.exp() + delta_log_var.exp() - delta_log_var - 1
    return (0.5 * per_dimension.sum()).mean(dim=0)


def conv_block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, stride=2, padding=1), nn.BatchNorm2d(c_out), nn.SiLU())


def condition(channels, z_dim):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 2 * z_dim))


class Encoder(nn.Module):
    def __init__(self, z_dim):
        super().__init__()
        widths = [3, z_dim // 8, z_dim // 2, z_dim]
        self.blocks = nn.ModuleList(conv_block(a, b) for a, b in zip(widths, widths[1:]))
        self.condition_x = condition(z_dim, z_dim)

    def forward(self, x):
        features = []
        for block in self.blocks:
            x = block(x)
            features.append(x)
        mu, log_var = self.condition_x(x).chunk(2, dim=1)
        return mu, log_var, features[1]


class Decoder(nn.Module):
    def __init__(self, z_dim):
        super().__init__()
        half = z_dim // 2
        self.map_from_z = nn.ModuleList([nn.Linear(z_dim, 4 * z_dim), nn.Linear(half, half)])
        self.up1 = nn.Sequential(nn.ConvTranspose2d(z_dim, half, 4, 2, 1), nn.BatchNorm2d(half), nn.SiLU())
        self.up2 = nn.Sequential(nn.ConvTranspose2d(z_dim, z_dim // 8, 4, 4), nn.SiLU())
        self.condition_z = condition(half, half)
        self.condition_xz = condition(z_dim, half)
        self.recon = nn.Conv2d(z_dim // 8, 3, 1)

    def forward(self, z, features):
        h = self.up1(self.map_from_z[0](z).unflatten(1, (-1, 2, 2)))
        mu, log_var = self.condition_z(h).chunk(2, dim=1)
        delta_mu, delta_log_var = self.condition_xz(torch.cat([features, h], dim=1)).chunk(2, dim=1)
        kl_loss = kl_2(delta_mu, delta_log_var, mu, log_var)
        z = sample(mu + delta_mu, log_var + delta_log_var)
        h = torch.cat([h, self.map_from_z[1](z)[..., None, None].expand_as(h)], dim=1)
        return self.recon(self.up2(h)).sigmoid(), kl_loss


class NVAE(nn.Module):
    def __init__(self, z_dim):
        super().__init__()
        self.encoder = Encoder(z_dim)
        self.decoder = Decoder(z_dim)

    def forward(self, x):
        mu, log_var, features = self.encoder(x)
        x_hat, kl_of_level = self.decoder(sample(mu, log_var), features)
        return x_hat, F.binary_cross_entropy(x_hat, x), [kl(mu, log_var), kl_of_level]


# %%
model = NVAE(z_dim=64)
optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)
image = torch.rand(32, 3, 16, 16)

for step in range(5):
    optimizer.zero_grad()
    image_recon, recon_loss, kl_losses = model(image)
    loss = recon_loss + 0.01 * sum(kl_losses)
    loss.backward()
    optimizer.step()
    print(step, recon_loss.item(), [kl_loss.item() for kl_loss in kl_losses])

model.eval()
torch.manual_seed(1)
_, _, kl_losses = model(image[:1])
torch.manual_seed(1)
_, _, kl_losses_of_eight = model(image[:1].repeat(8, 1, 1, 1))
ratio = kl_losses_of_eight[1].item() / kl_losses[1].item()
print("kl of one image and of the same eight times:", ratio)
