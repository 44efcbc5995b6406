# https://github.com/ermongroup/ddim/issues/33
import torch
import torch.nn as nn

torch.manual_seed(0)


def get_beta_schedule(beta_start, beta_end, num_diffusion_timesteps):
    return torch.linspace(beta_start, beta_end, num_diffusion_timesteps)


class Model(nn.Module):
    def __init__(self, dim=2, hidden=64, num_timesteps=100):
        super().__init__()
        self.temb = nn.Embedding(num_timesteps, hidden)
        self.inp = nn.Linear(dim, hidden)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.temb(t)))


def noise_estimation_loss(model, x0, t, e, b, keepdim=False):
    a = (1 - b).cumprod(dim=0).index_select(0, t).view(-1, 1)
    x = x0 * a.sqrt() + e * (1.0 - a).sqrt()
    output = model(x, t)
    if keepdim:
        return (e - output).square().sum(dim=1)
    return (e - output).square().sum(dim=1).mean(dim=0)


class EMAHelper:
    def __init__(self, mu=0.999):
        self.mu = mu
        self.shadow = {}

    def register(self, module):
        for name, param in module.named_parameters():
            if param.requires_grad:
                self.shadow[name] = param.data.clone()

    def update(self, module):
        for name, param in module.named_parameters():
            if param.requires_grad:
                self.shadow[name].data = (1. - self.mu) * param.data + self.mu * self.shadow[name].data


# %%
num_timesteps = 100
betas = get_beta_schedule(1e-3, 0.1, num_timesteps)
model = Model(num_timesteps=num_timesteps)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
ema_helper = EMAHelper(mu=0.99)
ema_helper.register(model)

# %%
losses = []
model.train()
for step in range(600):
    angle = 2 * torch.pi * torch.rand(64)
    x = torch.stack([angle.cos(), angle.sin()], 1)
    n = x.size(0)
    e = torch.randn_like(x)
    # antithetic sampling
    t = torch.randint(low=0, high=num_timesteps, size=(n // 2 + 1,))
    t = torch.cat([t, num_timesteps - t - 1], dim=0)[:n]
    loss = noise_estimation_loss(model, x, t, e, betas)
    losses.append(loss.item())

    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    ema_helper.update(model)
    if step % 100 == 0:
        print(f"step: {step}, loss: {loss.item()}")

# %%
with torch.no_grad():
    angle = 2 * torch.pi * torch.rand(2000)
    x = torch.stack([angle.cos(), angle.sin()], 1)
    late = noise_estimation_loss(model, x, torch.full((2000,), 90), torch.randn_like(x), betas).item()
    early = noise_estimation_loss(model, x, torch.full((2000,), 5), torch.randn_like(x), betas).item()
mean_loss = sum(losses[-100:]) / 100
print(mean_loss, early, late)
assert mean_loss < 0.6 * losses[0] and late < 0.3 < early
