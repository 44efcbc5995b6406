# https://github.com/autonomousvision/stylegan-t/issues/11
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, z_dim=8):
        super().__init__()
        self.z_dim = z_dim
        self.mapping = nn.Sequential(nn.Linear(z_dim, 32), nn.LeakyReLU(0.2))
        self.synthesis = nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))

    def forward(self, z):
        return self.synthesis(self.mapping(z))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.dino = nn.Sequential(nn.Linear(2, 32), nn.GELU(), nn.Linear(32, 32))
        self.heads = nn.ModuleList([nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
                                    for _ in range(2)])

    def forward(self, x):
        features = self.dino(x)
        return torch.cat([head(features) for head in self.heads], dim=1)


class ProjectedGANLoss:
    def __init__(self, G, D):
        self.G, self.D = G, D

    def accumulate_gradients(self, phase, real_img, gen_z):
        if phase == 'D':
            gen_logits = self.D(self.G(gen_z))
            loss_fake = F.relu(torch.ones_like(gen_logits) + gen_logits).mean()
            loss_fake.backward()
            real_logits = self.D(real_img)
            loss_real = F.relu(torch.ones_like(real_logits) - real_logits).mean()
            loss_real.backward()
        elif phase == 'G':
            loss_gen = (-self.D(self.G(gen_z))).mean()
            loss_gen.backward()


def partial_freeze(phase):
    if phase.name == 'D':
        phase.module.dino.requires_grad_(False)
    elif phase.name == 'G':
        phase.module.requires_grad_(False)
        for name, layer in phase.module.named_modules():
            layer.requires_grad_(any(layer_type in name for layer_type in phase.trainable_layers))


def sync_grads(network, gain):
    params = [param for param in network.parameters() if param.grad is not None]
    flat_grads = torch.cat([param.grad.flatten() for param in params]) / gain
    flat_grads = flat_grads.nan_to_num(nan=0, posinf=1e5, neginf=-1e5)
    for param, grad in zip(params, flat_grads.split([param.numel() for param in params])):
        param.grad = grad.reshape(param.size())


# %%
G = Generator().train().requires_grad_(False)
G_ema = copy.deepcopy(G).eval()
D = Discriminator().train().requires_grad_(False)
loss = ProjectedGANLoss(G, D)
phases = []
for name, module, lr in [('D', D, 1e-2), ('G', G, 2e-3)]:
    opt = torch.optim.Adam(module.parameters(), lr=lr, betas=(0.0, 0.99))
    phases.append(SimpleNamespace(name=name, module=module, opt=opt, trainable_layers=['synthesis', 'mapping']))
batch_size, batch_gpu = 64, 16
n_batch_acc = batch_size // batch_gpu
start = copy.deepcopy(D.dino[0].weight), copy.deepcopy(G.mapping[0].weight), copy.deepcopy(D.heads[0][0].weight)
center = torch.tensor([1.5, -1.0])

# %%
distances = []
for batch_idx in range(120):
    phase_real_img = (center + 0.3 * torch.randn(batch_size, 2)).split(batch_gpu)
    all_gen_z = [torch.randn(batch_size, G.z_dim).split(batch_gpu) for _ in phases]
    for phase, phase_gen_z in zip(phases, all_gen_z):
        phase.module.requires_grad_(True)
        partial_freeze(phase)
        for real_img, gen_z in zip(phase_real_img, phase_gen_z):
            loss.accumulate_gradients(phase=phase.name, real_img=real_img, gen_z=gen_z)
        phase.module.requires_grad_(False)
        sync_grads(network=phase.module, gain=n_batch_acc)
        phase.opt.step()
        phase.opt.zero_grad(set_to_none=True)
    for p_ema, p in zip(G_ema.parameters(), G.parameters()):
        p_ema.copy_(p.lerp(p_ema, 0.95))
    distances.append((G_ema(torch.randn(256, G.z_dim)).mean(0) - center).norm().item())
moved = [not torch.equal(a, b) for a, b in zip(start, (D.dino[0].weight, G.mapping[0].weight, D.heads[0][0].weight))]
print(distances[0], distances[-1], moved)
