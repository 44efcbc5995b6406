# https://github.com/aiqm/torchani/pull/238
import torch
import torch.nn as nn

torch.manual_seed(0)
force_coefficient = 0.1


class AEVComputer(nn.Module):
    """Gaussians of the distances between the atoms."""

    def __init__(self, n=6):
        super().__init__()
        self.register_buffer('ShfR', torch.linspace(0.5, 3.0, n))

    def forward(self, coordinates):
        diff = coordinates.unsqueeze(2) - coordinates.unsqueeze(1)
        distances = (diff.pow(2).sum(-1) + torch.eye(diff.size(1))).sqrt()
        terms = torch.exp(-4.0 * (distances.unsqueeze(-1) - self.ShfR) ** 2)
        return (terms * (1 - torch.eye(diff.size(1))).unsqueeze(-1)).sum(2)


nn_energy = nn.Sequential(nn.Linear(6, 12), nn.CELU(0.1), nn.Linear(12, 1))
model = nn.Sequential(AEVComputer(), nn_energy)
optimizer = torch.optim.AdamW(nn_energy.parameters(), lr=1e-3, weight_decay=1e-4)
mse = torch.nn.MSELoss(reduction='none')

training = [{'coordinates': torch.randn(4, 5, 3), 'energies': torch.randn(4), 'forces': torch.randn(4, 5, 3)}
            for _ in range(2)]

# %%
for epoch in range(2):
    for batch in training:
        coordinates = batch['coordinates'].requires_grad_(True)
        true_energies, true_forces = batch['energies'], batch['forces']
        num_atoms = float(coordinates.size(1))

        predicted_energies = model(coordinates).sum((1, 2))
        # We can use torch.autograd.grad to compute force.
        forces = -torch.autograd.grad(predicted_energies.sum(), coordinates, retain_graph=True)[0]

        # Now the total loss has two parts, energy loss and force loss
        energy_loss = (mse(predicted_energies, true_energies) / num_atoms).mean()
        force_loss = (mse(true_forces, forces).sum(dim=(1, 2)) / num_atoms).mean()
        loss = energy_loss + force_coefficient * force_loss

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, 'energy', energy_loss.item(), 'force', force_loss.item())
