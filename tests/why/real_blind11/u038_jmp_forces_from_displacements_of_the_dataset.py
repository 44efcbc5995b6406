# https://github.com/facebookresearch/JMP/issues/4
import torch
import torch.nn as nn

torch.manual_seed(0)


def generate_graphs(pos, cutoff=2.5):
    """Dataset transform: edges within the cutoff and their displacement vectors."""
    distances = torch.cdist(pos, pos)
    i, j = torch.nonzero((distances < cutoff) & (distances > 0), as_tuple=True)
    return {"edge_index": torch.stack([i, j]), "edge_vectors": pos[j] - pos[i]}


class PretrainModel(nn.Module):
    def __init__(self, hidden=32, num_rbf=16):
        super().__init__()
        self.embedding = nn.Embedding(10, hidden)
        self.register_buffer("centers", torch.linspace(0, 2.5, num_rbf))
        self.edge = nn.Sequential(nn.Linear(num_rbf + 2 * hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.out_energy = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, data):
        h = self.embedding(data["atomic_numbers"])
        src, dst = data["edge_index"]
        vectors = data["edge_vectors"]
        rbf = torch.exp(-(vectors.norm(dim=-1, keepdim=True) - self.centers) ** 2 / 0.1)
        messages = self.edge(torch.cat([rbf, h[src], h[dst]], dim=-1))
        h = h.index_add(0, dst, messages)
        return self.out_energy(h).sum()


# %%
model = PretrainModel()
pos = torch.randn(8, 3) * 1.2
data = {"pos": pos, "atomic_numbers": torch.randint(1, 9, (8,)), **generate_graphs(pos)}
energy = model(data)
print(energy)

# %%
# relax the molecule with the pretrained model
for step in range(3):
    pos.requires_grad_(True)
    energy = model(data)
    forces = -torch.autograd.grad(energy, pos)[0]
    with torch.no_grad():
        pos += 0.01 * forces
    print(step, energy.item(), forces.norm().item())
