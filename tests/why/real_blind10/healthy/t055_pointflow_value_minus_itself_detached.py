# https://github.com/stevenygd/PointFlow/issues/27
import torch
import torch.nn as nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, zdim=8):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(3, 32, 1), nn.ReLU())
        self.fc_m, self.fc_v = nn.Linear(32, zdim), nn.Linear(32, zdim)

    def forward(self, x):
        x = self.conv(x.transpose(1, 2)).max(2)[0]
        return self.fc_m(x), self.fc_v(x)


class Flow(nn.Module):
    """Scale and shift, conditioned on the shape code."""
    def __init__(self, dim, context=0):
        super().__init__()
        self.net = nn.Linear(max(context, 1), 2 * dim)

    def forward(self, x, context=None):
        context = x.new_ones(x.size(0), 1) if context is None else context
        shift, log_scale = self.net(context).chunk(2, dim=-1)
        if x.dim() == 3:
            shift, log_scale = shift[:, None], log_scale[:, None]
        delta = log_scale.sum(-1).expand(x.shape[:-1])
        return (x - shift) * torch.exp(-log_scale), delta


# %%
encoder, latent_cnf, point_cnf = Encoder(), Flow(8), Flow(3, context=8)
parameters = [*encoder.parameters(), *latent_cnf.parameters(), *point_cnf.parameters()]
opt = torch.optim.Adam(parameters, lr=2e-3)
x = torch.randn(4, 50, 3)

# %%
for step in range(5):
    opt.zero_grad()
    z_mu, z_sigma = encoder(x)
    z = z_mu + torch.exp(0.5 * z_sigma) * torch.randn_like(z_mu)

    # Compute H[Q(z|X)]
    entropy = (0.5 * z_sigma).sum(1)

    # Compute the prior probability P(z)
    w, delta_log_pw = latent_cnf(z)
    log_pw = -0.5 * w.pow(2).sum(1)
    log_pz = log_pw - delta_log_pw

    # Compute the reconstruction likelihood P(X|z)
    z_new = z + (log_pz * 0.).mean()
    y, delta_log_py = point_cnf(x, z_new)
    log_py = -0.5 * y.pow(2).sum((1, 2))
    log_px = log_py - delta_log_py.sum(1)

    loss = -(log_px.mean() + log_pz.mean() + entropy.mean())
    loss.backward()
    opt.step()
    print(step, loss.item())
