# https://github.com/caogang/wgan-gp/issues/27
import torch
from torch import autograd, nn, optim

torch.manual_seed(0)

DIM = 16
LAMBDA = 10
CRITIC_ITERS = 5
BATCH_SIZE = 32
ITERS = 40
SIZE = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(16, 2 * DIM * 4)
        self.up = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(2 * DIM, DIM, 2, stride=2),
                                nn.ReLU(), nn.ConvTranspose2d(DIM, 1, 2, stride=2), nn.Tanh())

    def forward(self, noise):
        return self.up(self.start(noise).view(-1, 2 * DIM, 2, 2))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(1, DIM, 3, 2, padding=1), nn.LeakyReLU(),
                                  nn.Conv2d(DIM, 2 * DIM, 3, 2, padding=1), nn.LeakyReLU())
        self.output = nn.Linear(2 * DIM * 4, 1)

    def forward(self, images):
        return self.output(self.main(images).flatten(1)).squeeze(1)


def input_gradients(netD, real_data, fake_data):
    alpha = torch.rand(BATCH_SIZE, 1, 1, 1)
    interpolates = torch.lerp(fake_data, real_data, alpha).requires_grad_(True)
    return autograd.grad(netD(interpolates).sum(), interpolates, create_graph=True)[0]


def calc_gradient_penalty(netD, real_data, fake_data):
    gradients = input_gradients(netD, real_data, fake_data)
    return LAMBDA * ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def inf_train_gen():
    rows = torch.arange(SIZE).float()
    while True:
        center = torch.randint(2, SIZE - 2, (BATCH_SIZE, 2)).float()
        distance = (rows.view(1, SIZE, 1) - center[:, :1, None]) ** 2 + (rows - center[:, 1:, None]) ** 2
        yield (2 * torch.exp(-distance / 4) - 1).unsqueeze(1)


# %%
netG, netD = Generator(), Discriminator()
optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.9))
data = inf_train_gen()

# %%
for iteration in range(ITERS):
    for p in netD.parameters():
        p.requires_grad = True
    for iter_d in range(CRITIC_ITERS):
        real_data = next(data)
        netD.zero_grad()
        fake = netG(torch.randn(BATCH_SIZE, 16)).detach()
        gradient_penalty = calc_gradient_penalty(netD, real_data, fake)
        D_cost = netD(fake).mean() - netD(real_data).mean() + gradient_penalty
        D_cost.backward()
        optimizerD.step()

    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    G_cost = -netD(netG(torch.randn(BATCH_SIZE, 16))).mean()
    G_cost.backward()
    optimizerG.step()
    if iteration % 10 == 9:
        print(iteration, "penalty", gradient_penalty.item(), "disc cost", D_cost.item())

# %%
gradients = input_gradients(netD, next(data), netG(torch.randn(BATCH_SIZE, 16)).detach())
slopes = gradients.detach().flatten(1).norm(2, dim=1)
print("slope of the critic at each image:", slopes.mean().item())
