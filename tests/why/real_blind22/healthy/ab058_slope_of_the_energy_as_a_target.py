# https://github.com/learningmatter-mit/NeuralForceField/issues/15
import torch
import torch.nn as nn
from torch.autograd import grad

torch.manual_seed(0)


def compute_grad(inputs, output):
    """
    Compute gradient of the scalar output with respect to inputs.
    """
    assert inputs.requires_grad

    gradspred, = grad(
        output,
        inputs,
        grad_outputs=output.data.new(output.shape).fill_(1),
        create_graph=True,
        retain_graph=True,
    )
    return gradspred


class GaussianSmearing(nn.Module):
    def __init__(self, start=0.5, stop=4.0, n_gaussians=12):
        super().__init__()
        offsets = torch.linspace(start, stop, n_gaussians)
        self.register_buffer('width', (offsets[1] - offsets[0]) * torch.ones_like(offsets))
        self.register_buffer('offsets', offsets)

    def forward(self, distances):
        return torch.exp(-0.5 / self.width ** 2 * (distances - self.offsets) ** 2)


class SchNet(nn.Module):
    def __init__(self, n_atom_basis=24, n_types=2):
        super().__init__()
        self.atom_embed = nn.Embedding(n_types, n_atom_basis)
        self.smear = GaussianSmearing()
        self.filter = nn.Sequential(nn.Linear(12, n_atom_basis), nn.Softplus(), nn.Linear(n_atom_basis, n_atom_basis))
        self.update = nn.Sequential(nn.Linear(n_atom_basis, n_atom_basis), nn.Softplus(), nn.Linear(n_atom_basis, n_atom_basis))
        self.atomwisereadout = nn.Sequential(nn.Linear(n_atom_basis, 12), nn.Softplus(), nn.Linear(12, 1))

    def forward(self, batch):
        xyz, nbr = batch['xyz'], batch['nbr_list']
        xyz.requires_grad_()
        r = self.atom_embed(batch['z'])
        d = (xyz[:, nbr[:, 0]] - xyz[:, nbr[:, 1]]).pow(2).sum(-1, keepdim=True).sqrt()
        messages = self.filter(self.smear(d)) * r[:, nbr[:, 1]]
        r = r + self.update(torch.zeros_like(r).index_add(1, nbr[:, 0], messages))
        energy = self.atomwisereadout(r).sum(1)
        return {'energy': energy, 'energy_grad': compute_grad(inputs=xyz, output=energy)}


def build_mse_loss(loss_coef):
    def loss_fn(ground_truth, results):
        loss = 0.0
        for key, coef in loss_coef.items():
            diff = (ground_truth[key] - results[key]) ** 2
            loss += coef * torch.mean(diff)
        return loss
    return loss_fn


# %%
nbr_list = torch.tensor([(i, j) for i in range(4) for j in range(4) if i != j])
corners = torch.tensor([[0., 0., 0.], [1.5, 0., 0.], [0., 1.5, 0.], [0., 0., 1.5]])
dataset = []
for _ in range(32):
    xyz = (corners + 0.15 * torch.randn(8, 4, 3)).requires_grad_()
    d = (xyz[:, nbr_list[:, 0]] - xyz[:, nbr_list[:, 1]]).norm(dim=-1)
    energy = 0.5 * ((1 - torch.exp(-1.2 * (d - 1.8))) ** 2).sum(1, keepdim=True)
    forces = -compute_grad(xyz, energy)
    dataset.append({'xyz': xyz.detach(), 'nbr_list': nbr_list, 'z': torch.tensor([0, 1, 1, 1]).expand(8, -1),
                    'energy': energy.detach(), 'energy_grad': -forces.detach()})

# %%
model = SchNet()
loss_fn = build_mse_loss(loss_coef={'energy_grad': 0.95, 'energy': 0.05})
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
epochs = []
for epoch in range(12):
    total = 0.0
    for batch in dataset:
        optimizer.zero_grad()
        results = model(batch)
        loss = loss_fn(batch, results)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(dataset)
    epochs.append(total)
print(epochs[0], epochs[-1])
