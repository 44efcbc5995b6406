# https://github.com/clovaai/stargan-v2/issues/99
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, img=16, style=8):
        super().__init__()
        self.enc = nn.Linear(img, 32)
        self.dec = nn.Linear(32 + style, img)

    def forward(self, x, s):
        return self.dec(torch.cat([F.leaky_relu(self.enc(x), 0.2), s], dim=1))


# %%
generator = Generator()
mapping_network = nn.Linear(4, 8)
style_encoder = nn.Linear(16, 8)
discriminator = nn.Linear(16, 1)
optims = {
    "generator": torch.optim.Adam(generator.parameters(), lr=1e-3),
    "mapping_network": torch.optim.Adam(mapping_network.parameters(), lr=1e-3),
    "style_encoder": torch.optim.Adam(style_encoder.parameters(), lr=1e-3),
}
x_real = torch.randn(32, 16)
lambda_sty, lambda_ds, lambda_cyc = 1., 1., 1.
distances = []

# %%
for i in range(30):
    z_trg, z_trg2 = torch.randn(32, 4), torch.randn(32, 4)
    # adversarial loss
    s_trg = mapping_network(z_trg)
    x_fake = generator(x_real, s_trg)
    loss_adv = F.softplus(-discriminator(x_fake)).mean()
    # style reconstruction loss
    loss_sty = torch.mean(torch.abs(style_encoder(x_fake) - s_trg))
    # diversity sensitive loss
    s_trg2 = mapping_network(z_trg2)
    x_fake2 = generator(x_real, s_trg2)
    x_fake2 = x_fake2.detach()
    loss_ds = torch.mean(torch.abs(x_fake - x_fake2))
    # cycle-consistency loss
    x_rec = generator(x_fake, style_encoder(x_real))
    loss_cyc = torch.mean(torch.abs(x_rec - x_real))
    loss = loss_adv + lambda_sty * loss_sty - lambda_ds * loss_ds + lambda_cyc * loss_cyc
    for optim in optims.values():
        optim.zero_grad()
    loss.backward()
    for optim in optims.values():
        optim.step()
    distances.append(loss_ds.item())
print(distances[0], distances[-1])
assert distances[-1] > distances[0]
assert mapping_network.weight.grad.abs().sum() > 0
