# https://github.com/seangal/dcgan_vae_pytorch/issues/4
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
nz, nx, batch_size = 4, 12, 16


class _Encoder(nn.Module):
    def __init__(self):
        super(_Encoder, self).__init__()
        self.encoder = nn.Sequential(nn.Linear(nx, 32), nn.LeakyReLU(0.2))
        self.conv1 = nn.Linear(32, nz)
        self.conv2 = nn.Linear(32, nz)

    def forward(self, input):
        output = self.encoder(input)
        return [self.conv1(output), self.conv2(output)]


class _netG(nn.Module):
    def __init__(self):
        super(_netG, self).__init__()
        self.encoder = _Encoder()
        self.decoder = nn.Sequential(nn.Linear(nz, 32), nn.LeakyReLU(0.2), nn.Linear(32, nx), nn.Tanh())

    def sampler(self, input):
        mu, logvar = input
        return torch.randn_like(mu).mul(logvar.mul(0.5).exp()).add(mu)

    def forward(self, input):
        return self.decoder(self.sampler(self.encoder(input)))


netG = _netG()
netD = nn.Sequential(nn.Linear(nx, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
criterion, MSECriterion = nn.BCELoss(), nn.MSELoss()
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
real_label, fake_label = torch.ones(batch_size, 1), torch.zeros(batch_size, 1)
dataloader = [torch.rand(batch_size, nx) * 2 - 1 for _ in range(4)]

# %%
for i, input in enumerate(dataloader, 0):
    # (1) Update D network: maximize log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    errD_real = criterion(netD(input), real_label)
    errD_real.backward()
    gen = netG.decoder(torch.randn(batch_size, nz))
    errD_fake = criterion(netD(gen.detach()), fake_label)
    errD_fake.backward()
    optimizerD.step()

    # (2) Update G network: VAE
    mu, logvar = netG.encoder(input)
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    rec = netG.decoder(netG.sampler([mu, logvar]))
    MSEerr = MSECriterion(rec, input)
    VAEerr = KLD + MSEerr
    wanted = torch.autograd.grad(VAEerr, netG.decoder[0].weight, retain_graph=True)[0]
    VAEerr.backward()
    got = netG.decoder[0].weight.grad.clone()
    optimizerG.step()

    # (3) Update G network: maximize log(D(G(z)))
    netG.zero_grad()
    rec = netG(input)
    errG = criterion(netD(rec), real_label)
    errG.backward()
    optimizerG.step()
    print(i, VAEerr.item(), errD_real.item() + errD_fake.item(), errG.item(), (got - wanted).norm().item())
