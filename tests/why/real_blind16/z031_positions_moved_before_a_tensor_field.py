# https://github.com/ashawkey/torch-ngp/issues/60
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PositionNetwork(nn.Module):
    """Moves the points before they are looked up in the field."""

    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, 3))

    def forward(self, x):
        return x + 0.1 * torch.tanh(self.net(x))


class NeRFNetwork(nn.Module):
    def __init__(self, resolution=16, rank=4, color_rank=6):
        super().__init__()
        self.mat_ids, self.vec_ids = [[0, 1], [0, 2], [1, 2]], [2, 1, 0]
        self.move = PositionNetwork()
        self.sigma_mat, self.sigma_vec = self.init_one_svd(rank, resolution)
        self.color_mat, self.color_vec = self.init_one_svd(color_rank, resolution)
        self.basis_mat = nn.Linear(3 * color_rank, 12, bias=False)
        self.color_net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))

    def init_one_svd(self, rank, resolution, scale=0.1):
        mat = [nn.Parameter(scale * torch.randn(1, rank, resolution, resolution)) for _ in range(3)]
        vec = [nn.Parameter(scale * torch.randn(1, rank, resolution, 1)) for _ in range(3)]
        return nn.ParameterList(mat), nn.ParameterList(vec)

    def get_coords(self, x):
        # plane + line basis
        mat_coord = torch.stack([x[..., ids] for ids in self.mat_ids]).detach().view(3, -1, 1, 2)
        vec_coord = torch.stack([x[..., i] for i in self.vec_ids])
        vec_coord = torch.stack((torch.zeros_like(vec_coord), vec_coord), dim=-1).detach().view(3, -1, 1, 2)
        return mat_coord, vec_coord

    def get_feat(self, x, mats, vecs):
        mat_coord, vec_coord = self.get_coords(x)
        feats = []
        for i in range(3):
            mat_feat = F.grid_sample(mats[i], mat_coord[[i]], align_corners=True).view(-1, len(x))
            vec_feat = F.grid_sample(vecs[i], vec_coord[[i]], align_corners=True).view(-1, len(x))
            feats.append(mat_feat * vec_feat)
        return torch.cat(feats, dim=0)

    def forward(self, x):
        x = self.move(x)
        sigma = F.relu(self.get_feat(x, self.sigma_mat, self.sigma_vec).sum(dim=0))
        color_feat = self.basis_mat(self.get_feat(x, self.color_mat, self.color_vec).T)
        return sigma, torch.sigmoid(self.color_net(color_feat))


def render(model, origins, directions, steps=16):
    z = torch.linspace(0.1, 1.6, steps)
    points = origins[:, None] + directions[:, None] * z[:, None]
    sigma, rgb = model(points.reshape(-1, 3).clamp(-1, 1))
    alpha = 1 - torch.exp(-sigma.view(len(origins), steps) * 0.1)
    weights = alpha * torch.cumprod(torch.cat([torch.ones(len(origins), 1), 1 - alpha], 1), 1)[:, :-1]
    return (weights[..., None] * rgb.view(len(origins), steps, 3)).sum(1) + 1 - weights.sum(1, keepdim=True)


# %%
model = NeRFNetwork()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2, betas=(0.9, 0.99), eps=1e-15)
for step in range(30):
    origins = torch.rand(64, 3) * 0.4 - torch.tensor([0.2, 0.2, 1.0])
    directions = F.normalize(torch.randn(64, 3) * 0.2 + torch.tensor([0.0, 0.0, 1.0]), dim=-1)
    gt_rgb = torch.sigmoid(4 * directions)
    loss = F.mse_loss(render(model, origins, directions), gt_rgb)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
