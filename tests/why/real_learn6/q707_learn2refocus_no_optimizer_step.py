# https://github.com/tedlasai/learn2refocus/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Accelerator:
    sync_gradients = True

    def backward(self, loss):
        loss.backward()

    def clip_grad_norm_(self, parameters, max_norm):
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(4, 16, 3, padding=1)
        self.time = nn.Linear(1, 16)
        self.up = nn.Conv2d(16, 4, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.down(x) + self.time(t[:, None])[:, :, None, None])
        return self.up(h)


# %%
accelerator = Accelerator()
unet = UNet()
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 2))
w_before = unet.down.weight.detach().clone()

# %%
for step in range(4):
    latents = torch.randn(2, 4, 8, 8)
    noise = torch.randn_like(latents)
    sigmas = torch.rand(2)
    noisy_latents = latents + sigmas[:, None, None, None] * noise
    model_pred = unet(noisy_latents, sigmas)
    loss = F.mse_loss(model_pred, noise)
    accelerator.backward(loss)
    if accelerator.sync_gradients:
        accelerator.clip_grad_norm_(unet.parameters(), 1.0)
    lr_scheduler.step()
    optimizer.zero_grad()
    print(loss.item())
