# https://github.com/eriklindernoren/PyTorch-GAN/issues/136
import torch
import torch.nn as nn

generator, discriminator = nn.Linear(4, 6), nn.Linear(6, 1)
optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
before = generator.weight.detach().clone()

# %%
#  Train Discriminator
optimizer_D.zero_grad()
z, real_imgs = torch.randn(5, 4), torch.randn(5, 6)
fake_imgs = generator(z)
d_loss = -torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs))
d_loss.backward()
optimizer_D.step()

# %%
print(torch.equal(before, generator.weight))
