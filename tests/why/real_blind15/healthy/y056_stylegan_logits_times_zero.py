# https://github.com/NVlabs/stylegan2-ada-pytorch/issues/118
import math
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
if not dist.is_initialized():
    dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)


class Generator(nn.Module):
    def __init__(self, z_dim=4, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(z_dim, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 2)
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, 1)

    def forward(self, img):
        return self.out(self.features(img)).squeeze(1)


class StyleGAN2Loss:
    def __init__(self, G, D, r1_gamma=0.5):
        self.G, self.D, self.r1_gamma = G, D, r1_gamma

    def accumulate_gradients(self, phase, real_img, gen_z, gain):
        if phase == 'Gmain':
            gen_logits = self.D(self.G(gen_z))
            F.softplus(-gen_logits).mean().mul(gain).backward()
        if phase == 'Dmain':
            with torch.no_grad():
                gen_img = self.G(gen_z)
            F.softplus(self.D(gen_img)).mean().mul(gain).backward()
        if phase in ['Dmain', 'Dreg']:
            real_img_tmp = real_img.detach().requires_grad_(phase == 'Dreg')
            real_logits = self.D(real_img_tmp)
            loss_Dreal, loss_Dr1 = 0, 0
            if phase == 'Dmain':
                loss_Dreal = F.softplus(-real_logits)
            if phase == 'Dreg':
                r1_grads = torch.autograd.grad(outputs=[real_logits.sum()], inputs=[real_img_tmp], create_graph=True)[0]
                loss_Dr1 = r1_grads.square().sum(1) * (self.r1_gamma / 2)
            # the bias of the last layer has no part in the penalty
            (real_logits * 0 + loss_Dreal + loss_Dr1).mean().mul(gain).backward()


def real_batch(n=128):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


# %%
G = Generator()
D = DistributedDataParallel(Discriminator(), broadcast_buffers=False)
loss = StyleGAN2Loss(G, D)
G_opt = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.99))
D_opt = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.99))
phases = [('Gmain', G, G_opt, 1), ('Dmain', D, D_opt, 1), ('Dreg', D, D_opt, 4)]
bias_grads = []

# %%
for batch_idx in range(600):
    for name, module, opt, interval in phases:
        if batch_idx % interval != 0:
            continue
        opt.zero_grad(set_to_none=True)
        module.requires_grad_(True)
        loss.accumulate_gradients(name, real_batch(), torch.randn(128, 4), gain=interval)
        module.requires_grad_(False)
        if name == 'Dreg':
            bias_grads.append(D.module.out.bias.grad.item())
        opt.step()

# %%
with torch.no_grad():
    fakes = G(torch.randn(1000, 4))
radius = fakes.norm(dim=1)
corners = [((fakes * torch.tensor(c)).min(1).values > 0).float().mean().item() for c in ([1., 1.], [1., -1.], [-1., 1.], [-1., -1.])]
print(radius.mean().item(), radius.std().item(), corners)
assert all(g == 0 for g in bias_grads)
assert abs(radius.mean() - 1) < 0.2 and radius.std() < 0.3 and min(corners) > 0.05
dist.destroy_process_group()
