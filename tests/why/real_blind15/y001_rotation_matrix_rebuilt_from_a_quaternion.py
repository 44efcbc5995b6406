# https://discuss.pytorch.org/t/solved-learn-affine-transformation/50839
import torch
import torch.nn as nn

torch.manual_seed(0)


def transform_from_pq(p, q):
    w, x, y, z = q

    x2 = 2.0 * x * x
    y2 = 2.0 * y * y
    z2 = 2.0 * z * z
    xy = 2.0 * x * y
    xz = 2.0 * x * z
    yz = 2.0 * y * z
    xw = 2.0 * x * w
    yw = 2.0 * y * w
    zw = 2.0 * z * w

    R = torch.tensor([
        [1.0 - y2 - z2, xy - zw, xz + yw],
        [xy + zw, 1.0 - x2 - z2, yz - xw],
        [xz - yw, yz + xw, 1.0 - x2 - y2],
    ])

    T = torch.eye(4, dtype=torch.float32)
    T[:3, :3] = R
    T[:3, -1] = torch.squeeze(p)
    return T


class AffineModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.translation = nn.Parameter(torch.zeros(3))
        self.quaternion = nn.Parameter(torch.tensor([1.0, 0.0, 0.0, 0.0]))

    def forward(self, points):
        q = self.quaternion / self.quaternion.norm()
        return points @ transform_from_pq(self.translation, q).t()


def homogeneous(points):
    return torch.cat([points, torch.ones(len(points), 1)], dim=1)


# %%
angle = torch.tensor(0.6)
true_q = torch.stack([torch.cos(angle / 2), torch.zeros(()), torch.zeros(()), torch.sin(angle / 2)])
source = homogeneous(torch.randn(200, 3))
target = source @ transform_from_pq(torch.tensor([0.5, -1.0, 0.2]), true_q).t()
target[:, :3] += 0.01 * torch.randn(200, 3)

model = AffineModel()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(200):
    optimizer.zero_grad()
    loss = criterion(model(source), target)
    loss.backward()
    optimizer.step()
print(loss.item(), model.translation.data, model.quaternion.data)
