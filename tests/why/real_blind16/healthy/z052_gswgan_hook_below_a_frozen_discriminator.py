# https://github.com/DingfanChen/GS-WGAN/issues/10
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
CLIP_BOUND, Z_DIM, BATCH = 1.0, 4, 64


class Generator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z_DIM, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = nn.functional.leaky_relu(self.fc1(x), 0.2)
        return self.out(nn.functional.leaky_relu(self.fc2(x), 0.2)).squeeze(1)

    def gradient_penalty(self, real, fake, weight=1.0):
        alpha = torch.rand(len(real), 1)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        grads, = torch.autograd.grad(self(between).sum(), between, create_graph=True)
        return weight * ((grads.norm(2, dim=1) - 1) ** 2).mean()


class Sanitizer:
    """What the generator hears of each sample has the same length, whatever the discriminator says."""

    def __init__(self):
        self.active, self.called = False, 0

    def __call__(self, module, grad_input, grad_output):
        if not self.active:
            return None
        self.called += 1
        grad = grad_input[0]
        bound = CLIP_BOUND / len(grad)
        return (grad * (bound / (grad.norm(p=2, dim=1, keepdim=True) + 1e-10)),)


def real_batch(n=BATCH):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([2 * side, torch.zeros(n, 1)], 1) + 0.2 * torch.randn(n, 2)


# %%
netG, netD, sanitizer = Generator(), Discriminator(), Sanitizer()
netD.fc1.register_full_backward_hook(sanitizer)
optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
lengths = []

# %%
for iteration in range(240):
    for p in netD.parameters():
        p.requires_grad = True
    sanitizer.active = False
    for _ in range(3):
        netD.zero_grad()
        real = real_batch()
        fake = netG(torch.randn(BATCH, Z_DIM)).detach()
        D_real, D_fake = netD(real), netD(fake)
        D_cost = D_fake.mean() - D_real.mean() + netD.gradient_penalty(real, fake) + 1e-3 * D_real.pow(2).mean()
        D_cost.backward()
        optimizerD.step()

    sanitizer.active = True
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    fake = netG(torch.randn(BATCH, Z_DIM))
    fake.retain_grad()
    G_cost = -netD(fake).mean()
    G_cost.backward()
    lengths.append(fake.grad.norm(dim=1).detach())
    optimizerG.step()

# %%
with torch.no_grad():
    samples = netG(torch.randn(1000, Z_DIM))
lengths = torch.stack(lengths)
left = (samples[:, 0] < 0).float().mean().item()
distance = (samples - torch.stack([2 * samples[:, 0].sign(), torch.zeros(1000)], 1)).norm(dim=1).mean().item()
print(sanitizer.called, lengths.min().item() * BATCH, lengths.max().item() * BATCH, left, distance)
assert sanitizer.called == 240
assert torch.allclose(lengths * BATCH, torch.ones_like(lengths), atol=1e-3)
assert 0.15 < left < 0.85 and distance < 0.8
