# https://github.com/NVlabs/VAEBM/issues/2
import torch
import torch.nn as nn
import numpy as np
from torch.autograd import Variable

torch.manual_seed(0)
sample_step, step_size, opt_batch = 8, 0.02, 64


def requires_grad(parameters, flag):
    for p in parameters:
        p.requires_grad = flag


class EBM(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class VAE(nn.Module):
    """trained before, and left alone"""
    def __init__(self):
        super().__init__()
        self.decoder = nn.Linear(2, 2)

    def sample(self, eps_z):
        return self.decoder(eps_z), (-0.5 * eps_z ** 2).sum(1)


class SampleBuffer:
    def __init__(self, max_samples=512):
        self.max_samples, self.buffer = max_samples, []

    def push(self, z):
        self.buffer.extend(z.detach())
        self.buffer = self.buffer[-self.max_samples:]

    def get(self, n, p=0.6):
        fresh = torch.randn(n, 2)
        if self.buffer:
            k = (torch.rand(n) < p).nonzero().flatten()
            fresh[k] = torch.stack([self.buffer[i] for i in torch.randint(len(self.buffer), (len(k),))])
        return fresh


# %%
vae, model, buffer = VAE(), EBM(), SampleBuffer()
requires_grad(vae.parameters(), False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=3e-5)
data_center = vae.decoder(torch.tensor([[1.5, -1.0]])).detach()
d_s_t = []

# %%
for global_step in range(80):
    image = data_center + 0.2 * torch.randn(opt_batch, 2)
    requires_grad(model.parameters(), False)
    model.eval()
    eps_z = Variable(buffer.get(opt_batch), requires_grad=True)
    noise = torch.empty_like(eps_z)
    for k in range(sample_step):
        neg_x, log_p_total = vae.sample(eps_z)
        dvalue = (model(neg_x) - log_p_total).mean()
        dvalue.backward()
        noise.normal_(0, 1)
        eps_z.data.add_(eps_z.grad.data * opt_batch, alpha=-0.5 * step_size)
        eps_z.data.add_(noise.data, alpha=np.sqrt(step_size))
        eps_z.grad.detach_()
        eps_z.grad.zero_()
    eps_z = eps_z.detach()
    requires_grad(model.parameters(), True)
    model.train()
    model.zero_grad()
    neg_x, _ = vae.sample(eps_z)
    pos_out, neg_out = model(image), model(neg_x)
    loss = pos_out.mean() - neg_out.mean()
    loss_total = loss + 0.1 * (pos_out ** 2 + neg_out ** 2).mean()
    loss_total.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    buffer.push(eps_z)
    d_s_t.append(loss.item())
with torch.no_grad():
    gap = model(vae.decoder(torch.randn(200, 2))).mean() - model(data_center + 0.2 * torch.randn(200, 2)).mean()
print(d_s_t[0], d_s_t[-1], gap.item())
assert gap > 0.1
assert model.net[0].weight.grad.abs().sum() > 0 and vae.decoder.weight.grad is None
