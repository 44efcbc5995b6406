# https://github.com/lab-cosmo/torch-pme/issues/62
import torch

torch.manual_seed(0)


class PMEPotential(torch.nn.Module):
    def __init__(self, atomic_smearing):
        super().__init__()
        self.atomic_smearing = atomic_smearing
        self._cell_cache = None
        self._influence = None

    def forward(self, positions, charges, cell):
        if self._cell_cache is None or not torch.equal(self._cell_cache, cell):
            self._cell_cache = cell.detach().clone()
            self._influence = torch.exp(-0.5 * self.atomic_smearing**2 * torch.linalg.inv(cell).pow(2).sum(0))
        phases = positions @ torch.linalg.inv(cell) * 2 * torch.pi
        return charges * (torch.cos(phases) * self._influence).sum(1, keepdim=True)


# %%
sr_cutoff = 5.5

calculator = PMEPotential(atomic_smearing=sr_cutoff / 5.0)

positions = 5 * torch.rand((100, 3), requires_grad=True)
cell = 5 * torch.eye(3, requires_grad=True)
charges = torch.rand((100, 1))

output = calculator(positions, charges, cell)
output = output.sum()
output.backward()

# %%
positions = 5 * torch.rand((100, 3), requires_grad=True)
cell = 5 * torch.eye(3, requires_grad=True)
charges = torch.rand((100, 1))

output = calculator(positions, charges, cell)
output = output.sum()
output.backward()
