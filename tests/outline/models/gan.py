# One step of a GAN: the discriminator is called three times, two losses, two optimizers
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(
    nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
)
bce = nn.functional.binary_cross_entropy_with_logits
optG = torch.optim.Adam(G.parameters(), 2e-4)
optD = torch.optim.Adam(D.parameters(), 2e-4)
real, ones, zeros = torch.randn(4, 16), torch.ones(4, 1), torch.zeros(4, 1)
# %% the recorded cell
z = torch.randn(4, 8)
fake = G(z)

optD.zero_grad()
lossD = bce(D(real), ones) + bce(D(fake.detach()), zeros)
lossD.backward()
optD.step()

optG.zero_grad()
lossG = bce(D(fake), ones)
lossG.backward()
optG.step()
