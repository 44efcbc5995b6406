# https://github.com/akanazawa/cmr/issues/11
import torch
import torch.nn as nn

torch.manual_seed(0)


def cross_product(a, b):
    return torch.stack([
        a[:, :, 1] * b[:, :, 2] - a[:, :, 2] * b[:, :, 1],
        a[:, :, 2] * b[:, :, 0] - a[:, :, 0] * b[:, :, 2],
        a[:, :, 0] * b[:, :, 1] - a[:, :, 1] * b[:, :, 0],
    ], dim=2)


def normalize(n):
    norm = torch.sqrt((n ** 2).sum(2, keepdim=True))
    return n / norm.clamp(min=1e-12)


def triangle_loss(verts, edge2verts):
    """Encourages dihedral angle to be 180 degrees: verts B x N x 3, edge2verts B x E x 4."""
    indices = torch.stack([edge2verts, edge2verts, edge2verts], dim=2)  # B x E x 3 x 4
    verts_A = torch.gather(verts, 1, indices[:, :, :, 0])
    verts_B = torch.gather(verts, 1, indices[:, :, :, 1])
    verts_C = torch.gather(verts, 1, indices[:, :, :, 2])
    verts_D = torch.gather(verts, 1, indices[:, :, :, 3])

    n1 = normalize(cross_product(verts_D - verts_A, verts_B - verts_A))
    n2 = normalize(cross_product(verts_B - verts_A, verts_C - verts_A))
    dot_p = (n1 * n2).sum(2)
    return ((1 - dot_p) ** 2).mean()


class ShapePredictor(nn.Module):
    def __init__(self, mean_v, features=8):
        super().__init__()
        self.mean_v = nn.Parameter(mean_v.clone())
        self.delta = nn.Linear(features, mean_v.numel())
        nn.init.zeros_(self.delta.weight)
        nn.init.zeros_(self.delta.bias)

    def forward(self, features):
        return self.mean_v + self.delta(features).view(-1, *self.mean_v.shape)


mean_v = torch.tensor([[0., 0, 0], [1, 0, 0], [1, 1, 0.1], [0, 1, 0], [0.5, 0.5, 0.3], [0.5, 0.5, 0.3]])
edge2verts = torch.tensor([[0, 2, 1, 3], [0, 4, 1, 3], [4, 5, 2, 3]]).unsqueeze(0).repeat(4, 1, 1)

# %%
model = ShapePredictor(mean_v)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for step in range(3):
    features = torch.randn(4, 8)
    verts = model(features)
    tri_loss = triangle_loss(verts, edge2verts)
    loss = (verts - mean_v).pow(2).mean() + 3e-2 * tri_loss
    print(step, "triangle loss", tri_loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
