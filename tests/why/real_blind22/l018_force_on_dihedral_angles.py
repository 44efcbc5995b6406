# https://github.com/openmm/openmm-torch/issues/119
import torch
import torch.nn as nn

torch.manual_seed(0)


class DihedralModule(nn.Module):
    def __init__(self, quadruples):
        super().__init__()
        self.register_buffer("quadruples", torch.tensor(quadruples))

    def forward(self, positions):
        p = positions[self.quadruples]
        b0 = p[:, 0] - p[:, 1]
        b1 = p[:, 2] - p[:, 1]
        b2 = p[:, 3] - p[:, 2]
        b1 = b1 / b1.norm(dim=-1, keepdim=True)
        v = b0 - (b0 * b1).sum(-1, keepdim=True) * b1
        w = b2 - (b2 * b1).sum(-1, keepdim=True) * b1
        x = (v * w).sum(-1)
        y = (torch.cross(b1, v, dim=-1) * w).sum(-1)
        return torch.atan2(y, x)


class ForceModule(nn.Module):
    def __init__(self, phi, psi, hidden=16):
        super().__init__()
        self.phi = DihedralModule(phi)
        self.psi = DihedralModule(psi)
        self.network = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, positions):
        phi, psi = self.phi(positions), self.psi(positions)
        features = torch.stack([torch.cos(phi), torch.sin(phi), torch.cos(psi), torch.sin(psi)], dim=-1)
        return self.network(features)


class TorchForce:
    def __init__(self, module):
        self.module = module

    def execute(self, positions):
        positions = positions.detach().requires_grad_(True)
        energy = self.module(positions)
        energy.backward()
        return energy.detach(), -positions.grad


class LocalEnergyMinimizer:
    @staticmethod
    def minimize(force, positions, steps=50, step_size=1e-3):
        for _ in range(steps):
            energy, forces = force.execute(positions)
            positions = positions + step_size * forces
        return positions, energy


# %%
n_residues = 5
backbone = torch.cumsum(torch.randn(3 * n_residues + 1, 3) * 0.3 + 0.1, dim=0)
phi = [[3 * i - 1, 3 * i, 3 * i + 1, 3 * i + 2] for i in range(1, n_residues)]
psi = [[3 * i, 3 * i + 1, 3 * i + 2, 3 * i + 3] for i in range(1, n_residues)]
module = ForceModule(phi, psi)
print(module(backbone).shape)

# %%
force = TorchForce(module)
positions, energy = LocalEnergyMinimizer.minimize(force, backbone)
print(energy)
