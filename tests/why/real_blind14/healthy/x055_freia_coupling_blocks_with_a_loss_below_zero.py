# https://github.com/vislearn/FrEIA/issues/16
import torch
import torch.nn as nn

torch.manual_seed(0)


def subnet_fc(c_in, c_out):
    return nn.Sequential(nn.Linear(c_in, 64), nn.ReLU(), nn.Linear(64, c_out))


class AllInOneBlock(nn.Module):
    """Affine coupling, a scale for each channel, and a fixed permutation."""

    def __init__(self, dim, clamp=2.0):
        super().__init__()
        self.split, self.clamp = dim // 2, clamp
        self.subnet = subnet_fc(self.split, 2 * (dim - self.split))
        self.global_scale = nn.Parameter(torch.zeros(dim))
        self.global_offset = nn.Parameter(torch.zeros(dim))
        self.register_buffer('perm', torch.randperm(dim))
        self.register_buffer('perm_inv', torch.argsort(self.perm))

    def affine(self, x1):
        s, t = self.subnet(x1).chunk(2, dim=1)
        return self.clamp * torch.tanh(0.1 * s), t

    def forward(self, x):
        x1, x2 = x[:, :self.split], x[:, self.split:]
        s, t = self.affine(x1)
        y = torch.cat([x1, x2 * s.exp() + t], 1)
        y = y * self.global_scale.exp() + self.global_offset
        return y[:, self.perm], s.sum(1) + self.global_scale.sum()

    def inverse(self, y):
        y = (y[:, self.perm_inv] - self.global_offset) / self.global_scale.exp()
        s, t = self.affine(y[:, :self.split])
        return torch.cat([y[:, :self.split], (y[:, self.split:] - t) / s.exp()], 1)


class SequenceINN(nn.Module):
    def __init__(self, dim, n_blocks):
        super().__init__()
        self.blocks = nn.ModuleList(AllInOneBlock(dim) for _ in range(n_blocks))

    def forward(self, x):
        log_jac_det = 0
        for block in self.blocks:
            x, j = block(x)
            log_jac_det = log_jac_det + j
        return x, log_jac_det

    def inverse(self, z):
        for block in reversed(self.blocks):
            z = block.inverse(z)
        return z


def draw_data(n):
    angle = 3.1416 * torch.rand(n)
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, angle.cos(), 1 - angle.cos())
    y = torch.where(upper, angle.sin(), 0.5 - angle.sin())
    return 0.2 * (torch.stack([x, y], 1) - torch.tensor([0.5, 0.25])) + 0.01 * torch.randn(n, 2)


# %%
N_DIM = 2
inn = SequenceINN(N_DIM, n_blocks=6)
optimizer = torch.optim.Adam(inn.parameters(), lr=2e-3)
history = []

# %%
for i in range(400):
    optimizer.zero_grad()
    x = draw_data(256)
    z, log_jac_det = inn(x)
    loss = (0.5 * torch.sum(z ** 2, 1) - log_jac_det).mean() / N_DIM
    loss.backward()
    nn.utils.clip_grad_norm_(inn.parameters(), 5.0)
    optimizer.step()
    history.append(loss.item())
print(history[0], history[-1])

# %%
with torch.no_grad():
    held = draw_data(500)
    samples = inn.inverse(torch.randn(500, N_DIM))
    error = (inn.inverse(inn(held)[0]) - held).abs().max()
    nearest = torch.cdist(samples, draw_data(2000)).min(1).values.median()
print(error.item(), nearest.item())
assert history[-1] < 0 and history[-1] < history[0] - 0.5
assert error < 1e-3 and nearest < 0.02
