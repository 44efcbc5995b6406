# https://github.com/lilanxiao/Rotated_IoU/issues/20
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


def generate_table():
    skip = [[0, 2], [1, 3], [5, 7], [4, 6]]     # impossible hull edge
    line = []
    points = []
    for i in range(8):
        for j in range(i + 1, 8):
            if [i, j] not in skip:
                line.append([i, j])
                points.append([k for k in range(8) if k != i and k != j])
    return torch.tensor(line), torch.tensor(points)


LINES, POINTS = generate_table()


def box2corners_th(box):
    """(B, 5) with x, y, w, h, alpha to corners (B, 4, 2)"""
    x, y, w, h, alpha = (box[..., i:i + 1] for i in range(5))
    x4 = torch.tensor([0.5, -0.5, -0.5, 0.5]).to(box.dtype) * w
    y4 = torch.tensor([0.5, 0.5, -0.5, -0.5]).to(box.dtype) * h
    sin, cos = torch.sin(alpha), torch.cos(alpha)
    return torch.stack([x4 * cos - y4 * sin + x, x4 * sin + y4 * cos + y], dim=-1)


def point_line_distance_range(lines, points):
    x1, y1 = lines[..., 0:1, 0], lines[..., 0:1, 1]
    x2, y2 = lines[..., 1:2, 0], lines[..., 1:2, 1]
    x = points[..., 0]            # (..., 24, 6)
    y = points[..., 1]            # (..., 24, 6)
    den = (y2 - y1) * x - (x2 - x1) * y + x2 * y1 - y2 * x1
    num = torch.sqrt((y2 - y1).square() + (x2 - x1).square()) + 1e-8
    d = den / num         # (..., 24, 6)
    d1 = d.max(dim=-1)[0] - d.min(dim=-1)[0]
    d2 = torch.max(d.abs(), dim=-1)[0]
    return torch.max(d1, d2)


def point_line_projection_range(lines, points):
    x1, y1 = lines[..., 0:1, 0], lines[..., 0:1, 1]
    x2, y2 = lines[..., 1:2, 0], lines[..., 1:2, 1]
    k = (y2 - y1) / (x2 - x1 + 1e-8)      # (..., 24, 1)
    vec = torch.cat([torch.ones_like(k), k], dim=-1).unsqueeze(-2)
    points_ext = torch.cat([lines, points], dim=-2)         # consider all 8 points
    proj = torch.sum(points_ext * vec, dim=-1) / torch.norm(vec, dim=-1)
    return proj.max(dim=-1)[0] - proj.min(dim=-1)[0]


def smallest_bounding_box(corners):
    corners = corners.double()
    lines, points = corners[:, LINES], corners[:, POINTS]
    proj = point_line_projection_range(lines, points)
    dist = point_line_distance_range(lines, points)
    area, idx = torch.min(proj * dist, dim=-1, keepdim=True)
    return proj.gather(-1, idx).squeeze(-1).float(), dist.gather(-1, idx).squeeze(-1).float()


def cal_enclosing_penalty(box1, box2):
    corners = torch.cat([box2corners_th(box1), box2corners_th(box2)], dim=1)
    w, h = smallest_bounding_box(corners)
    d2 = (box1[:, 0] - box2[:, 0]).square() + (box1[:, 1] - box2[:, 1]).square()
    return d2 / (w * w + h * h)


# %%
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5))
nn.init.zeros_(net[2].weight)
nn.init.zeros_(net[2].bias)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
feat = torch.randn(12, 16)
anchor = torch.tensor([0., 0., 2., 3., 0.]).repeat(12, 1)
target = anchor.clone()
target[1:] += 0.3 * torch.rand(11, 5)

# %%
torch.autograd.set_detect_anomaly(True)
try:
    for i in range(3):
        pred = anchor + net(feat)
        diou = cal_enclosing_penalty(pred, target)
        loss = diou.mean() + 0.1 * (pred - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
finally:
    torch.autograd.set_detect_anomaly(False)
