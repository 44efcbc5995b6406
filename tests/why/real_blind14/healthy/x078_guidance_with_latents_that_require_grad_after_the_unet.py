# https://github.com/fastai/diffusion-nbs/issues/34
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
STEPS = 40


class Scheduler:
    def __init__(self):
        self.sigmas = torch.cat([torch.logspace(0.9, -1.5, STEPS), torch.zeros(1)])

    def scale_model_input(self, latents, i):
        return latents / (self.sigmas[i] ** 2 + 1) ** 0.5

    def step(self, noise_pred, i, latents):
        return latents + (self.sigmas[i + 1] - self.sigmas[i]) * noise_pred


class Unet(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(13, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 12))

    def forward(self, x, sigma):
        return self.net(torch.cat([x, sigma.log().expand(len(x), 1) / 4], 1))


class Decoder(nn.Module):
    """Twelve numbers to a picture of three colors."""

    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode='bilinear')

    def forward(self, latents):
        return torch.sigmoid(self.up(latents.view(-1, 3, 2, 2)))


def draw_latents(n):
    gray = torch.randn(n, 1, 4)
    return (gray + 0.4 * torch.randn(n, 3, 1) + 0.1 * torch.randn(n, 3, 4)).view(n, 12)


scheduler, unet, vae = Scheduler(), Unet(), Decoder()
optimizer = torch.optim.Adam(unet.parameters(), lr=3e-3)
for _ in range(400):
    clean, noise = draw_latents(128), torch.randn(128, 12)
    i = int(torch.randint(0, STEPS, (1,)))
    sigma = scheduler.sigmas[i]
    noisy = scheduler.scale_model_input(clean + sigma * noise, i)
    optimizer.zero_grad()
    F.mse_loss(unet(noisy, sigma), noise).backward()
    optimizer.step()
optimizer.zero_grad()


def blue_loss(images):
    return (images[:, 2] - 0.9).abs().mean()


# %%
def sample(blue_loss_scale, n=16):
    latents = torch.randn(n, 12, generator=torch.Generator().manual_seed(32)) * scheduler.sigmas[0]
    for i in range(STEPS):
        sigma = scheduler.sigmas[i]
        with torch.no_grad():
            noise_pred = unet(scheduler.scale_model_input(latents, i), sigma)
        if i % 2 == 0 and blue_loss_scale:
            # what the gradient is asked of begins here, behind the network
            latents = latents.detach().requires_grad_()
            latents_x0 = latents - sigma * noise_pred
            denoised_images = vae(latents_x0)
            loss = blue_loss(denoised_images) * blue_loss_scale
            cond_grad = torch.autograd.grad(loss, latents)[0]
            latents = latents.detach() - cond_grad * sigma ** 2
        latents = scheduler.step(noise_pred, i, latents)
    return vae(latents)


# %%
plain = sample(0)
guided = sample(200)
print(blue_loss(plain).item(), blue_loss(guided).item(), guided[:, 0].mean().item())
assert all(p.grad is None for p in unet.parameters())
assert blue_loss(guided) < 0.7 * blue_loss(plain)
assert not guided.requires_grad
