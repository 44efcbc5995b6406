# https://github.com/jbwang1997/OPUS/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE = 16


class Backbone(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(1, dim, 5, padding=2)
        self.conv2 = nn.Conv2d(dim, dim, 5, padding=2)

    def forward(self, img):
        return self.conv2(F.relu(self.conv1(img)))


class DecoderLayer(nn.Module):
    def __init__(self, dim, num_points=8):
        super().__init__()
        self.num_points = num_points
        self.position_encoder = nn.Sequential(nn.Linear(2, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.sampling_offset = nn.Linear(dim, num_points * 2)
        nn.init.zeros_(self.sampling_offset.weight)
        nn.init.uniform_(self.sampling_offset.bias, -0.5, 0.5)
        self.mixing = nn.Linear(dim * num_points, dim)
        self.norm = nn.LayerNorm(dim)
        self.reg_branch = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(inplace=True), nn.Linear(dim, 2))

    def forward(self, query_points, query_feat, feat):
        query_feat = query_feat + self.position_encoder(query_points)
        offset = self.sampling_offset(query_feat).view(-1, 1, self.num_points, 2)
        grid = query_points.view(-1, 1, 1, 2) + offset
        sampled = F.grid_sample(feat, grid, align_corners=False)
        query_feat = self.norm(query_feat + self.mixing(sampled.flatten(1)))
        return query_feat, query_points + self.reg_branch(query_feat)


class Decoder(nn.Module):
    def __init__(self, dim=16, num_layers=3):
        super().__init__()
        self.backbone = Backbone(dim)
        self.query_feat = nn.Parameter(torch.zeros(dim))
        self.register_buffer('init_points', torch.tensor([0.25, -0.25]))
        self.decoder_layers = nn.ModuleList(DecoderLayer(dim) for _ in range(num_layers))

    def forward(self, img):
        feat = self.backbone(img)
        query_feat = self.query_feat.expand(len(img), -1)
        query_points = self.init_points.expand(len(img), -1)
        refine_pts = []
        for layer in self.decoder_layers:
            query_points = query_points.detach()
            query_feat, query_points = layer(query_points, query_feat, feat)
            refine_pts.append(query_points)
        return refine_pts


def draw(n):
    """One round spot on each picture; the answer is its middle."""
    center = torch.rand(n, 2) * 1.4 - 0.7
    axis = (torch.arange(SIZE) + 0.5) / SIZE * 2 - 1
    dx = axis.view(1, 1, -1) - center[:, 0].view(-1, 1, 1)
    dy = axis.view(1, -1, 1) - center[:, 1].view(-1, 1, 1)
    return torch.exp(-(dx ** 2 + dy ** 2) / 0.05).unsqueeze(1), center


# %%
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
img, center = draw(32)
losses = [F.l1_loss(points, center) for points in model(img)]
first_branch = model.decoder_layers[0].reg_branch[-1].weight
of_the_last, = torch.autograd.grad(losses[-1], first_branch, retain_graph=True, allow_unused=True)
of_its_own, = torch.autograd.grad(losses[0], first_branch)

# %%
for it in range(200):
    img, center = draw(32)
    loss = 0
    for points in model(img):
        loss = loss + F.l1_loss(points, center)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()

# %%
model.eval()
with torch.no_grad():
    img, center = draw(256)
    errors = [F.l1_loss(points, center).item() for points in model(img)]
print(errors)
assert of_the_last is None and of_its_own.abs().sum() > 0
assert all(p.grad is not None and p.grad.any() for p in model.parameters())
assert errors[-1] < 0.1
