# https://github.com/pytorch/examples/issues/361
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
nz, ngf, ndf = 8, 16, 16
real_label, fake_label = 1.0, 0.0


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv') != -1:
        nn.init.normal_(m.weight, 0.0, 0.15)
    elif classname.find('BatchNorm') != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1)


templates = -0.9 * torch.ones(4, 1, 8, 8)
for k, (rows, columns) in enumerate([(slice(0, 4), slice(0, 8)), (slice(4, 8), slice(0, 8)), (slice(0, 8), slice(0, 4)), (slice(0, 8), slice(4, 8))]):
    templates[k, 0, rows, columns] = 0.9


def dataloader(batches, n=64):
    """Pictures of which one half, upper, lower, left or right, is white."""
    for _ in range(batches):
        yield templates[torch.randint(0, 4, (n,))] + 0.05 * torch.randn(n, 1, 8, 8)


# %%
netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=4e-3, betas=(0.5, 0.999))
history, same = [], []

# %%
for data in dataloader(300):
    netD.zero_grad()
    label = torch.full((len(data),), real_label)
    output = netD(data)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()

    fake = netG(torch.randn(len(data), nz, 1, 1))
    label.fill_(fake_label)
    output = netD(fake.detach())
    errD_fake = criterion(output, label)
    errD_fake.backward()
    D_G_z1 = output.mean().item()
    optimizerD.step()

    # what errG leaves in netD is of no use, and gone before netD is stepped again
    kept = [p.detach().clone() for p in netD.parameters()]
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optimizerG.step()
    same.append(all(torch.equal(a, b) for a, b in zip(kept, netD.parameters())))
    history.append((errD_real.item() + errD_fake.item(), errG.item(), D_x, D_G_z1))

# %%
with torch.no_grad():
    drawn = netG(torch.randn(400, nz, 1, 1))
    distance, which = (drawn[:, None] - templates[None]).abs().mean((2, 3, 4)).min(1)
print(history[0], history[-1], distance.mean().item(), which.bincount(minlength=4).tolist())
assert all(same)
assert all(p.grad is not None and p.grad.abs().max() > 0 for p in netD.parameters())
assert distance.mean() < 0.35 and len(which.unique()) >= 2
