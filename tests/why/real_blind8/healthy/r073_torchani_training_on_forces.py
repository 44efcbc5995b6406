# https://aiqm.github.io/torchani/examples/nnp_training_force.html
import torch
import torch.nn as nn

torch.manual_seed(0)


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.CELU(0.1), nn.Linear(16, 1))

    def forward(self, coordinates):
        distances = (coordinates[:, :, None] - coordinates[:, None, :]).pow(2).sum(-1)
        first, second = torch.triu_indices(4, 4, 1)
        pairs = distances[:, first, second].clamp_min(1e-6).sqrt()
        return self.net(pairs.unsqueeze(-1)).sum((1, 2))


# %%
model = Energy()
AdamW = torch.optim.AdamW(model.parameters(), lr=1e-3)
mse = torch.nn.MSELoss(reduction='none')
force_coefficient = 0.1
num_atoms = torch.full((8,), 4.)

# %%
for i in range(3):
    coordinates = (torch.randn(8, 4, 3) * 2).requires_grad_(True)
    true_energies, true_forces = torch.randn(8), torch.randn(8, 4, 3)
    predicted_energies = model(coordinates)

    # We can use torch.autograd.grad to compute force. Remember to create graph
    forces = -torch.autograd.grad(predicted_energies.sum(), coordinates, create_graph=True, retain_graph=True)[0]

    energy_loss = (mse(predicted_energies, true_energies) / num_atoms.sqrt()).mean()
    force_loss = (mse(true_forces, forces).sum(dim=(1, 2)) / num_atoms).mean()
    loss = energy_loss + force_coefficient * force_loss

    AdamW.zero_grad()
    loss.backward()
    AdamW.step()
    print(energy_loss.item(), force_loss.item())
