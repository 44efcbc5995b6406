# https://github.com/NVlabs/stylegan2-ada-pytorch/issues/233
import contextlib
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(0)

if not dist.is_initialized():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def ddp_sync(module, sync):
    return contextlib.nullcontext() if sync else module.no_sync()


class StyleGANLoss:
    def __init__(self, G_mapping, G_synthesis, D, r1_gamma=0.2):
        self.G_mapping, self.G_synthesis, self.D, self.r1_gamma = G_mapping, G_synthesis, D, r1_gamma

    def run_G(self, z, sync):
        with ddp_sync(self.G_mapping, sync):
            ws = self.G_mapping(z)
        with ddp_sync(self.G_synthesis, sync):
            img = self.G_synthesis(ws)
        return img

    def run_D(self, img, sync):
        with ddp_sync(self.D, sync):
            logits = self.D(img)
        return logits

    def accumulate_gradients(self, phase, real_img, gen_z, sync, gain):
        if phase == 'G':
            gen_logits = self.run_D(self.run_G(gen_z, sync=sync), sync=False)
            nn.functional.softplus(-gen_logits).mean().mul(gain).backward()
        else:
            with torch.no_grad():
                gen_img = self.run_G(gen_z, sync=False)
            gen_logits = self.run_D(gen_img, sync=False)  # synchronised with the real ones below
            nn.functional.softplus(gen_logits).mean().mul(gain).backward()
            real_tmp = real_img.detach().requires_grad_(True)
            real_logits = self.run_D(real_tmp, sync=sync)
            r1_grads, = torch.autograd.grad(real_logits.sum(), real_tmp, create_graph=True)
            loss_r1 = r1_grads.square().sum(1, keepdim=True) * (self.r1_gamma / 2)
            (nn.functional.softplus(-real_logits) + loss_r1).mean().mul(gain).backward()


# %%
G_mapping = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32))
G_synthesis = nn.Sequential(nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
ddp = [DDP(module) for module in (G_mapping, G_synthesis, D)]
loss = StyleGANLoss(*ddp)
phases = [('G', [G_mapping, G_synthesis], torch.optim.Adam([*G_mapping.parameters(), *G_synthesis.parameters()], lr=2e-3, betas=(0., 0.99))),
          ('D', [D], torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0., 0.99)))]
center = torch.tensor([2.0, -1.5])
num_rounds, batch_gpu = 2, 32


def distance():
    with torch.no_grad():
        return (G_synthesis(G_mapping(torch.randn(256, 8))).mean(0) - center).norm().item()


distance_before = distance()

# %%
for cur_nimg in range(100):
    for name, modules, opt in phases:
        opt.zero_grad(set_to_none=True)
        for module in (G_mapping, G_synthesis, D):
            module.requires_grad_(module in modules)
        for round_idx in range(num_rounds):
            real = center + 0.3 * torch.randn(batch_gpu, 2)
            loss.accumulate_gradients(name, real, torch.randn(batch_gpu, 8), sync=(round_idx == num_rounds - 1), gain=1 / num_rounds)
        opt.step()
distance_after = distance()
dist.destroy_process_group()
print(distance_before, distance_after)
assert distance_after < 0.5 * distance_before
