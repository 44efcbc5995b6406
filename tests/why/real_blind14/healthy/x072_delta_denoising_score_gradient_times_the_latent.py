# https://github.com/google/prompt-to-prompt/issues/83
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
T = 50
alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.15, T), 0)
prompts = torch.tensor([[2.0, 0.0], [-1.5, 1.5]])


class Unet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.text = nn.Embedding(2, 8)
        self.net = nn.Sequential(nn.Linear(2 + 8 + 1, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, z, t, prompt):
        time = (t.float() / T).unsqueeze(-1)
        return self.net(torch.cat([z, self.text(prompt), time], -1))


unet = Unet()
pretrain = torch.optim.Adam(unet.parameters(), lr=3e-3)
for _ in range(500):
    prompt, t = torch.randint(0, 2, (256,)), torch.randint(0, T, (256,))
    x, eps = prompts[prompt] + 0.2 * torch.randn(256, 2), torch.randn(256, 2)
    z_t = alphas[t].sqrt()[:, None] * x + (1 - alphas[t]).sqrt()[:, None] * eps
    pretrain.zero_grad()
    F.mse_loss(unet(z_t, t, prompt), eps).backward()
    pretrain.step()
unet.zero_grad(set_to_none=True)
for p in unet.parameters():
    p.requires_grad = False


class DDSLoss:
    def __init__(self, unet, t_min=2, t_max=40):
        self.unet, self.t_min, self.t_max = unet, t_min, t_max

    def noise_input(self, z, eps=None, timestep=None):
        if timestep is None:
            timestep = torch.randint(self.t_min, self.t_max, (z.shape[0],))
        if eps is None:
            eps = torch.randn_like(z)
        a = alphas[timestep].unsqueeze(-1)
        return a.sqrt() * z + (1 - a).sqrt() * eps, eps, timestep, a.sqrt(), (1 - a).sqrt()

    @torch.no_grad()
    def get_eps_prediction(self, z_t, timestep, prompt):
        return self.unet(z_t, timestep, prompt)

    def get_sds_loss(self, z, prompt):
        z_t, eps, timestep, alpha_t, sigma_t = self.noise_input(z.detach())
        e_t = self.get_eps_prediction(z_t, timestep, prompt)
        grad_z = alpha_t * sigma_t * (e_t - eps)
        grad_z = torch.nan_to_num(grad_z.detach(), 0.0, 0.0, 0.0)
        return (grad_z.clone() * z).sum() / z.shape[0], grad_z

    def get_dds_loss(self, z_source, z_target, prompt_source, prompt_target):
        z_t, eps, timestep, alpha_t, sigma_t = self.noise_input(z_target.detach())
        z_s, _, _, _, _ = self.noise_input(z_source, eps=eps, timestep=timestep)
        e_target = self.get_eps_prediction(z_t, timestep, prompt_target)
        e_source = self.get_eps_prediction(z_s, timestep, prompt_source)
        grad_z = alpha_t * sigma_t * (e_target - e_source)
        return (grad_z.clone() * z_target).sum() / z_target.shape[0], grad_z


# %%
z_source = prompts[0] + 0.2 * torch.randn(16, 2)
z_target = z_source.clone().requires_grad_(True)
source, target = torch.zeros(16, dtype=torch.long), torch.ones(16, dtype=torch.long)
dds_loss = DDSLoss(unet)
optimizer = torch.optim.SGD([z_target], lr=4.0)

# %%
for i in range(200):
    optimizer.zero_grad()
    loss, grad_z = dds_loss.get_dds_loss(z_source, z_target, source, target)
    loss.backward()
    optimizer.step()
way = (z_target.detach() - z_source).mean(0)
print(z_source.mean(0), z_target.detach().mean(0))

# %%
z = torch.randn(16, 2, requires_grad=True)
sds, grad_z = dds_loss.get_sds_loss(z, target)
sds.backward()
assert torch.allclose(z.grad, grad_z / 16)
assert F.cosine_similarity(way, prompts[1] - prompts[0], dim=0) > 0.9 and way.norm() > 2
