# https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(0)

# %%
discriminator = nn.Sequential(
    spectral_norm(nn.Conv2d(1, 4, 3, stride=2)), nn.LeakyReLU(0.1),
    spectral_norm(nn.Conv2d(4, 8, 3)), nn.LeakyReLU(0.1),
    nn.Flatten(), spectral_norm(nn.Linear(8 * 9, 1)))
optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.0, 0.9))

# %%
for i in range(3):
    real, fake = torch.randn(8, 1, 12, 12), torch.rand(8, 1, 12, 12)
    loss = nn.functional.relu(1.0 - discriminator(real)).mean() + nn.functional.relu(1.0 + discriminator(fake)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item(), torch.linalg.matrix_norm(discriminator[0].weight.flatten(1), 2).item())
