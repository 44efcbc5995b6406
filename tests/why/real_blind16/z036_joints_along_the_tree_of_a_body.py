# https://github.com/nkolot/GraphCMR/issues/19
import torch
import torch.nn as nn

torch.manual_seed(0)


def rodrigues(theta):
    """Rotation matrices of axis-angle vectors."""
    angle = torch.norm(theta + 1e-8, dim=1, keepdim=True)
    axis = theta / angle
    cos, sin = torch.cos(angle).unsqueeze(-1), torch.sin(angle).unsqueeze(-1)
    x, y, z = axis.unbind(1)
    zero = torch.zeros_like(x)
    K = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).view(-1, 3, 3)
    return torch.eye(3) + sin * K + (1 - cos) * (K @ K)


class SMPL(nn.Module):
    def __init__(self, n_vertices=60, n_joints=8, n_betas=4):
        super().__init__()
        self.n_vertices, self.n_joints, self.n_betas = n_vertices, n_joints, n_betas
        self.register_buffer("J_regressor", torch.softmax(torch.randn(n_joints, n_vertices), dim=1))
        self.register_buffer("weights", torch.softmax(3 * torch.randn(n_vertices, n_joints), dim=1))
        self.register_buffer("v_template", torch.randn(n_vertices, 3))
        self.register_buffer("shapedirs", 0.1 * torch.randn(n_vertices * 3, n_betas))
        self.register_buffer("parent", torch.tensor([0, 1, 2, 0, 4, 5, 3]))

    def forward(self, pose, beta):
        batch_size = pose.shape[0]
        v_shaped = (beta @ self.shapedirs.t()).view(-1, self.n_vertices, 3) + self.v_template
        J = torch.matmul(self.J_regressor, v_shaped)
        R = rodrigues(pose.view(-1, 3)).view(batch_size, self.n_joints, 3, 3)
        J_ = J.clone()
        J_[:, 1:, :] = J[:, 1:, :] - J[:, self.parent, :]
        G_ = torch.cat([R, J_[:, :, :, None]], dim=-1)
        pad_row = torch.tensor([0.0, 0, 0, 1]).view(1, 1, 1, 4).expand(batch_size, self.n_joints, -1, -1)
        G_ = torch.cat([G_, pad_row], dim=2)
        G = G_.clone()
        for i in range(1, self.n_joints):
            G[:, i, :, :] = torch.matmul(G[:, self.parent[i - 1], :, :], G_[:, i, :, :])

        rest = torch.cat([J, torch.zeros(batch_size, self.n_joints, 1)], dim=2).unsqueeze(-1)
        rest = torch.matmul(G, torch.cat([torch.zeros(batch_size, self.n_joints, 4, 3), rest], dim=-1))
        T = torch.einsum("vj,bjkl->bvkl", self.weights, G - rest)
        rest_shape_h = torch.cat([v_shaped, torch.ones_like(v_shaped)[:, :, [0]]], dim=-1)
        return torch.matmul(T, rest_shape_h[:, :, :, None])[:, :, :3, 0]


smpl = SMPL()
with torch.no_grad():
    target = smpl(0.3 * torch.randn(4, 24), torch.randn(4, 4))

# %%
pose = (0.1 * torch.randn(4, 24)).requires_grad_()
beta = torch.zeros(4, 4, requires_grad=True)
optimizer = torch.optim.Adam([pose, beta], lr=0.05)
for i in range(30):
    vertices = smpl(pose, beta)
    loss = ((vertices - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, loss.item())
