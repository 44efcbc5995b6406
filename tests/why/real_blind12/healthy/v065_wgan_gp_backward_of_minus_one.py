# https://github.com/jalola/improved-wgan-pytorch/issues/1
import torch
from torch import nn, optim
from torch import autograd

torch.manual_seed(0)
BATCH_SIZE, GP_LAMBDA, CRITIC_ITERS = 32, 10, 5


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight)
        m.bias.data.fill_(0.0)


class GoodGenerator(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(8, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 2))

    def forward(self, noise):
        return self.main(noise)


class GoodDiscriminator(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, dim), nn.LeakyReLU(0.2), nn.Linear(dim, dim), nn.LeakyReLU(0.2),
                                  nn.Linear(dim, 1))

    def forward(self, x):
        return self.main(x).view(-1)


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(BATCH_SIZE, 1)
    interpolates = (alpha * real_data + (1 - alpha) * fake_data).requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones(disc_interpolates.size()),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * GP_LAMBDA


# %%
aG, aD = GoodGenerator(), GoodDiscriminator()
aG.apply(weights_init)
aD.apply(weights_init)
optimizer_g = optim.Adam(aG.parameters(), lr=1e-3, betas=(0.0, 0.9))
optimizer_d = optim.Adam(aD.parameters(), lr=1e-3, betas=(0.0, 0.9))
one = torch.tensor(1, dtype=torch.float)
mone = one * -1
center = torch.tensor([3.0, -2.0])
distance_before = (aG(torch.randn(500, 8)).mean(0) - center).norm().item()

# %%
gen_costs = []
for iteration in range(150):
    # train G
    for p in aD.parameters():
        p.requires_grad_(False)  # freeze D
    aG.zero_grad()
    noise = torch.randn(BATCH_SIZE, 8)
    noise.requires_grad_(True)
    gen_cost = aD(aG(noise)).mean()
    gen_cost.backward(mone)
    gen_cost = -gen_cost
    optimizer_g.step()
    # train D
    for p in aD.parameters():
        p.requires_grad_(True)
    for i in range(CRITIC_ITERS):
        aD.zero_grad()
        fake_data = aG(torch.randn(BATCH_SIZE, 8)).detach()
        real_data = center + 0.5 * torch.randn(BATCH_SIZE, 2)
        disc_real = aD(real_data).mean()
        disc_fake = aD(fake_data).mean()
        disc_cost = disc_fake - disc_real + calc_gradient_penalty(aD, real_data, fake_data)
        disc_cost.backward()
        optimizer_d.step()
    gen_costs.append(gen_cost.item())
distance_after = (aG(torch.randn(500, 8)).mean(0) - center).norm().item()
print(distance_before, distance_after)
assert distance_after < 0.5 * distance_before
