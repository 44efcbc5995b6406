# https://github.com/conditionWang/NTL/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.main(x)


# %%
generator_aug, discriminator, discriminator_aug = Generator(), Discriminator(), Discriminator()
discriminator_aug.load_state_dict(discriminator.state_dict())
adversarial_loss = nn.BCEWithLogitsLoss()
d_before = discriminator_aug.main[0].weight.detach().clone()

# freeze D, only the generator is augmented
for p in discriminator.parameters():
    p.requires_grad = False
params = list(generator_aug.parameters()) + list(discriminator_aug.parameters())
optimizer_G = torch.optim.Adam(filter(lambda p: p.requires_grad, params), lr=0.01)

# %%
for epoch in range(4):
    z = torch.randn(16, 8)
    gen_imgs = generator_aug(z)
    validity = discriminator_aug(gen_imgs)
    g_loss = adversarial_loss(validity, torch.ones(16, 1))
    optimizer_G.zero_grad()
    g_loss.backward()
    optimizer_G.step()
    print(g_loss.item())
