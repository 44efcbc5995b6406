# https://github.com/NVlabs/stylegan2-ada-pytorch/issues/163
import os
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, z_dim=8, w_dim=32):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(z_dim, w_dim), nn.LeakyReLU(0.2), nn.Linear(w_dim, w_dim), nn.LeakyReLU(0.2))
        self.synthesis = nn.Sequential(nn.Linear(w_dim, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64))

    def forward(self, z):
        return self.synthesis(self.mapping(z)).view(-1, 1, 8, 8)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.b8 = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.b4 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.out = nn.Linear(32 * 4, 1)

    def forward(self, img):
        x = F.leaky_relu(self.b8(img), 0.2)
        x = F.leaky_relu(self.b4(x), 0.2)
        return self.out(x.flatten(1))


class StyleGAN2Loss:
    def __init__(self, G, D, r1_gamma=1.0):
        self.G, self.D, self.r1_gamma = G, D, r1_gamma
        self.penalties = []

    def accumulate_gradients(self, phase, real_img, gen_z, gain):
        do_Gmain = phase in ['Gmain', 'Gboth']
        do_Dmain = phase in ['Dmain', 'Dboth']
        do_Dr1 = phase in ['Dreg', 'Dboth']
        if do_Gmain:
            gen_logits = self.D(self.G(gen_z))
            loss_Gmain = F.softplus(-gen_logits)
            loss_Gmain.mean().mul(gain).backward()
        loss_Dgen = 0
        if do_Dmain:
            with torch.no_grad():
                gen_img = self.G(gen_z)
            gen_logits = self.D(gen_img)
            loss_Dgen = F.softplus(gen_logits)
            loss_Dgen.mean().mul(gain).backward()
        if do_Dmain or do_Dr1:
            real_img_tmp = real_img.detach().requires_grad_(do_Dr1)
            real_logits = self.D(real_img_tmp)
            loss_Dreal = 0
            if do_Dmain:
                loss_Dreal = F.softplus(-real_logits)
            loss_Dr1 = 0
            if do_Dr1:
                r1_grads = torch.autograd.grad(outputs=[real_logits.sum()], inputs=[real_img_tmp], create_graph=True, only_inputs=True)[0]
                r1_penalty = r1_grads.square().sum([1, 2, 3])
                loss_Dr1 = (r1_penalty * (self.r1_gamma / 2)).unsqueeze(1)
                self.penalties.append(r1_penalty.mean().item())
            (real_logits * 0 + loss_Dreal + loss_Dr1).mean().mul(gain).backward()


def real_images(n):
    side = torch.randint(0, 2, (n, 1, 1, 1))
    img = torch.full((n, 1, 8, 8), -1.0)
    img[:, :, :, 4:] = 1.0
    return torch.where(side == 1, img, -img) + 0.05 * torch.randn(n, 1, 8, 8)


# %%
os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo')
store = tempfile.NamedTemporaryFile(delete=False)
dist.init_process_group('gloo', init_method='file://' + store.name, rank=0, world_size=1)
G, D = Generator(), Discriminator()
ddp_D = DistributedDataParallel(D)
loss = StyleGAN2Loss(G, ddp_D)
opt_G = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.99))
opt_D = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.99))

# %%
for cur_nimg in range(160):
    phases = ['Gmain', 'Dmain'] + (['Dreg'] if cur_nimg % 4 == 0 else [])
    for phase in phases:
        module, opt = (G, opt_G) if phase == 'Gmain' else (D, opt_D)
        opt.zero_grad(set_to_none=True)
        G.requires_grad_(module is G)
        D.requires_grad_(module is D)
        loss.D = D if phase == 'Gmain' else ddp_D
        loss.accumulate_gradients(phase, real_images(32), torch.randn(32, 8), gain=4 if phase == 'Dreg' else 1)
        module.requires_grad_(False)
        opt.step()
dist.destroy_process_group()
os.unlink(store.name)

# %%
D.requires_grad_(True)
x = real_images(16).requires_grad_(True)
logits = D(x)
penalty = torch.autograd.grad(logits.sum(), x, create_graph=True)[0].square().sum([1, 2, 3]).mean()
alone = torch.autograd.grad(penalty, list(D.parameters()), retain_graph=True, allow_unused=True)
with_logits = torch.autograd.grad((logits * 0).mean() + penalty, list(D.parameters()))
same = all(torch.allclose(b, torch.zeros_like(b) if a is None else a) for a, b in zip(alone, with_logits))
with torch.no_grad():
    fakes = G(torch.randn(200, 8))
left, right = fakes[:, :, :, :4].mean((1, 2, 3)), fakes[:, :, :, 4:].mean((1, 2, 3))
contrast = (right - left).abs().mean().item()
print([a is None for a in alone], same, contrast, loss.penalties[0], loss.penalties[-1])
assert same and contrast > 1.0
assert all(p.grad is not None for p in D.parameters())
