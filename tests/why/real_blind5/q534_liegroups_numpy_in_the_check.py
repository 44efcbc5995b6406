# https://github.com/utiasSTARS/liegroups/issues/4
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class SO2:
    dim = 2

    def __init__(self, mat):
        self.mat = mat

    @classmethod
    def is_valid_matrix(cls, mat):
        shape_check = mat.shape[-2:] == (cls.dim, cls.dim)
        dets = np.linalg.det(mat.cpu().numpy())
        det_check = torch.from_numpy(np.isclose(dets, 1.0, atol=1e-4))
        identity = torch.eye(cls.dim).expand_as(mat)
        inv_check = (torch.bmm(mat.transpose(2, 1), mat) - identity).abs().flatten(1).max(1)[0] < 1e-4
        return shape_check & det_check & inv_check

    @classmethod
    def from_matrix(cls, mat, normalize=False):
        if cls.is_valid_matrix(mat).all() or normalize:
            return cls(mat)
        raise ValueError("Invalid rotation matrix. Use normalize=True to handle rounding errors.")

    def log(self):
        return torch.atan2(self.mat[:, 1, 0], self.mat[:, 0, 0])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        theta = self.fc(x).squeeze(1)
        c, s = theta.cos(), theta.sin()
        return torch.stack([torch.stack([c, -s], 1), torch.stack([s, c], 1)], 1)


# %%
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x, rvec_ab = torch.randn(32, 8), torch.rand(32) - 0.5

# %%
rotation_ab_pred = net(x)
print('rotation_ab_pred size = {} type = {}'.format(rotation_ab_pred.size(), rotation_ab_pred.type()))
rvec_ab_pred = SO2.from_matrix(rotation_ab_pred)
loss = (rvec_ab_pred.log() - rvec_ab).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item())
