# https://github.com/kornia/kornia/issues/522
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def normal_transform_pixel(height, width):
    tr_mat = torch.tensor([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]])
    tr_mat[0, 0] = tr_mat[0, 0] * 2.0 / (width - 1.0)
    tr_mat[1, 1] = tr_mat[1, 1] * 2.0 / (height - 1.0)
    return tr_mat.unsqueeze(0)


def normalize_homography(dst_pix_trans_src_pix, dsize_src, dsize_dst):
    src_norm_trans_src_pix = normal_transform_pixel(*dsize_src)
    dst_norm_trans_dst_pix = normal_transform_pixel(*dsize_dst)
    return dst_norm_trans_dst_pix @ (dst_pix_trans_src_pix @ torch.inverse(src_norm_trans_src_pix))


def warp_affine(src, M, dsize):
    B, C, H, W = src.size()
    M_3x3 = F.pad(M, [0, 0, 0, 1], "constant", value=0)
    M_3x3[..., -1, -1] += 1.0
    dst_norm_trans_src_norm = normalize_homography(M_3x3, (H, W), dsize)
    src_norm_trans_dst_norm = torch.inverse(dst_norm_trans_src_norm)
    grid = F.affine_grid(src_norm_trans_dst_norm[:, :2, :], [B, C, dsize[0], dsize[1]], align_corners=True)
    return F.grid_sample(src, grid, align_corners=True, mode='bilinear', padding_mode='zeros')


def get_rotation_matrix2d(center, angle, scale):
    radians = torch.deg2rad(angle)
    a, b = scale * torch.cos(radians), scale * torch.sin(radians)
    x, y = center
    row0 = torch.stack([a, b, (1 - a) * x - b * y])
    row1 = torch.stack([-b, a, b * x + (1 - a) * y])
    return torch.stack([row0, row1]).unsqueeze(0)


# %%
h_original, w_original = 24, 24
M = get_rotation_matrix2d((w_original / 2, h_original / 2), torch.tensor(20.), torch.tensor(0.8))
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
image = torch.rand(4, 1, h_original, w_original)
target = F.avg_pool2d(image, 3, 1, 1)
target_warped = warp_affine(target, M.expand(4, -1, -1), (h_original, w_original))

# %%
losses = []
for step in range(60):
    tensor = net(image)
    tensor.retain_grad()
    warped_tensor = warp_affine(tensor, M.expand(4, -1, -1), dsize=(h_original, w_original))
    loss = F.mse_loss(warped_tensor, target_warped)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

seen = warp_affine(torch.ones(1, 1, h_original, w_original), M, (h_original, w_original)).mean().item()
untouched = (tensor.grad == 0).float().mean().item()
print(losses[0], losses[-1], seen, untouched)
