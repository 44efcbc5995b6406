# https://github.com/daniel03c1/masked_wavelet_nerf/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TensorVMSplit(nn.Module):
    def __init__(self, density_n_comp=4, grid_size=8, use_mask=True):
        super().__init__()
        self.use_mask = use_mask
        self.mat_mode = [[0, 1], [0, 2], [1, 2]]
        self.vec_mode = [2, 1, 0]
        self.density_plane = nn.ParameterList([nn.Parameter(0.3 * torch.randn(1, density_n_comp, grid_size, grid_size)) for _ in range(3)])
        self.density_line = nn.ParameterList([nn.Parameter(0.3 * torch.randn(1, density_n_comp, grid_size, 1)) for _ in range(3)])
        if use_mask:
            self.density_plane_mask = nn.ParameterList([nn.Parameter(torch.randn(1, density_n_comp, grid_size, grid_size)) for _ in range(3)])
            self.density_line_mask = nn.ParameterList([nn.Parameter(torch.randn(1, density_n_comp, grid_size, 1)) for _ in range(3)])
        self.basis_mat = nn.Linear(3 * density_n_comp, 1)

    def compute_densityfeature(self, xyz_sampled):
        coordinate_plane = torch.stack([xyz_sampled[..., m] for m in self.mat_mode]).view(3, -1, 1, 2)
        coordinate_line = torch.stack([xyz_sampled[..., v] for v in self.vec_mode])
        coordinate_line = torch.stack((torch.zeros_like(coordinate_line), coordinate_line), dim=-1).view(3, -1, 1, 2)
        features = []
        for idx in range(3):
            plane, line = self.density_plane[idx], self.density_line[idx]
            if self.use_mask:
                mask = torch.sigmoid(self.density_plane_mask[idx])
                plane = (plane * (mask >= 0.5) - plane * mask).detach() \
                    + plane * mask
                mask = torch.sigmoid(self.density_line_mask[idx])
                line = (line * (mask >= 0.5) - line * mask).detach() \
                    + line * mask
            plane_feature = F.grid_sample(plane, coordinate_plane[[idx]], align_corners=True).view(-1, *xyz_sampled.shape[:1])
            line_feature = F.grid_sample(line, coordinate_line[[idx]], align_corners=True).view(-1, *xyz_sampled.shape[:1])
            features.append(plane_feature * line_feature)
        return torch.cat(features).T

    def forward(self, xyz_sampled):
        return F.softplus(self.basis_mat(self.compute_densityfeature(xyz_sampled))).squeeze(1)

    def mask_regularization(self):
        return sum(torch.sigmoid(m).sum() for m in [*self.density_plane_mask, *self.density_line_mask])


# %%
model = TensorVMSplit()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, betas=(0.9, 0.99))
for iteration in range(4):
    xyz = torch.rand(64, 3) * 2 - 1
    density = (xyz.norm(dim=-1) < 0.7).float()
    loss = F.mse_loss(model(xyz), density)
    total_loss = loss + 1e-6 * model.mask_regularization()
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
    print(iteration, loss.item())
