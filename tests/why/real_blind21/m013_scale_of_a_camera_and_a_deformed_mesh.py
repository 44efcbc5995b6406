# https://github.com/facebookresearch/pytorch3d/issues/644
import math

import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)
device = torch.device("cpu")


class Meshes:
    def __init__(self, verts, edges):
        self.verts, self.edges = verts, edges

    def verts_packed(self):
        return self.verts

    def offset_verts(self, vert_offsets_packed):
        return Meshes(self.verts + vert_offsets_packed, self.edges)


def ico_sphere(n=40):
    i = torch.arange(n).float() + 0.5
    phi, theta = torch.acos(1 - 2 * i / n), math.pi * (1 + 5 ** 0.5) * i
    verts = torch.stack([torch.cos(theta) * torch.sin(phi), torch.sin(theta) * torch.sin(phi), torch.cos(phi)], 1)
    nearest = torch.cdist(verts, verts).topk(5, largest=False).indices[:, 1:]
    edges = torch.stack([torch.arange(n).repeat_interleave(4), nearest.flatten()], 1)
    return Meshes(verts, edges)


def mesh_edge_loss(mesh, target_length=0.0):
    v0, v1 = mesh.verts[mesh.edges[:, 0]], mesh.verts[mesh.edges[:, 1]]
    return (((v0 - v1).norm(dim=1) - target_length) ** 2).mean()


class FoVOrthographicCameras:
    def __init__(self, R, T, scale_xyz=((1.0, 1.0, 1.0),), device="cpu"):
        self.R, self.T = R, T
        self.scale_xyz = torch.as_tensor(scale_xyz, device=device)

    def transform_points(self, points):
        return self.scale_xyz * (points @ self.R[0] + self.T[0])


def renderer_silhouette(mesh, cameras, image_size=16, sigma=0.03):
    points = cameras.transform_points(mesh.verts_packed())[:, :2]
    axis = torch.linspace(-1.5, 1.5, image_size)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 1, 2)
    covered = torch.exp(-(grid - points).pow(2).sum(-1) / sigma)
    return (1 - torch.prod(1 - 0.99 * covered, dim=1)).view(image_size, image_size)


# %%
num_views, num_views_per_iteration, Niter = 6, 2, 20
angles = torch.linspace(0, math.pi, num_views)
zero, one = torch.zeros_like(angles), torch.ones_like(angles)
R = torch.stack([angles.cos(), zero, angles.sin(), zero, one, zero, -angles.sin(), zero, angles.cos()], 1).view(-1, 3, 3)
T = torch.zeros(num_views, 3)

src_mesh = ico_sphere()
target_mesh = Meshes(src_mesh.verts * torch.tensor([1.2, 0.7, 0.9]), src_mesh.edges)
target_cameras = [FoVOrthographicCameras(device=device, R=R[None, i, ...], T=T[None, i, ...]) for i in range(num_views)]
target_silhouette = [renderer_silhouette(target_mesh, camera) for camera in target_cameras]

# %%
verts_shape = src_mesh.verts_packed().shape
deform_verts = torch.full(verts_shape, 0.0, device=device, requires_grad=True)

scale_xyz = torch.tensor([[1.0, 1.0, 1.0]], device=device, requires_grad=True)
scale_xyz_ = torch.nn.functional.relu(scale_xyz)

# The optimizer
optimizer = torch.optim.SGD([deform_verts, scale_xyz], lr=1.0, momentum=0.9)
losses = {"silhouette": {"weight": 1.0, "values": []}, "edge": {"weight": 0.1, "values": []}}

# %%
for i in range(Niter):
    # Initialize optimizer
    optimizer.zero_grad()

    # Deform the mesh
    new_src_mesh = src_mesh.offset_verts(deform_verts)

    # Losses to smooth /regularize the mesh shape
    loss = {k: torch.tensor(0.0, device=device) for k in losses}
    loss["edge"] = mesh_edge_loss(new_src_mesh)

    for j in np.random.permutation(num_views).tolist()[:num_views_per_iteration]:
        camera = FoVOrthographicCameras(device=device, R=R[None, j, ...], T=T[None, j, ...], scale_xyz=scale_xyz_)
        images_predicted = renderer_silhouette(new_src_mesh, camera)
        loss["silhouette"] = loss["silhouette"] + ((images_predicted - target_silhouette[j]) ** 2).mean() / num_views_per_iteration

    # Weighted sum of the losses
    sum_loss = torch.tensor(0.0, device=device)
    for k, l in loss.items():
        sum_loss = sum_loss + l * losses[k]["weight"]
        losses[k]["values"].append(l.item())

    sum_loss.backward()
    optimizer.step()
