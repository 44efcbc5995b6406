# https://github.com/atomistic-machine-learning/schnetpack/issues/279
import torch
import torch.nn as nn

torch.manual_seed(0)


class Representation(nn.Module):
    def __init__(self, features=16, n_gaussians=8):
        super().__init__()
        self.register_buffer("offsets", torch.linspace(0.0, 4.0, n_gaussians))
        self.filters = nn.Sequential(nn.Linear(n_gaussians, features), nn.Tanh(), nn.Dropout(0.1))

    def forward(self, positions):
        n = positions.size(0)
        i, j = torch.triu_indices(n, n, 1)
        distances = (positions[i] - positions[j]).norm(dim=1)
        gaussians = torch.exp(-4.0 * (distances[:, None] - self.offsets) ** 2)
        return self.filters(gaussians)


class Atomwise(nn.Module):
    """Predicts the energy, and the forces as its negative derivative."""

    def __init__(self, features=16, create_graph=True):
        super().__init__()
        self.out_net = nn.Linear(features, 1)
        self.create_graph = create_graph

    def forward(self, inputs, representation):
        energy = self.out_net(representation).sum()
        create_graph = self.create_graph if self.training else False
        forces = -torch.autograd.grad(energy, inputs["positions"], create_graph=create_graph, retain_graph=True)[0]
        return {"energy": energy, "forces": forces}


class AtomisticModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.representation, self.output = Representation(), Atomwise()

    def forward(self, inputs):
        inputs["positions"].requires_grad_()
        return self.output(inputs, self.representation(inputs["positions"]))


model = AtomisticModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
positions, target = torch.randn(4, 3), torch.randn(4, 3)
for step in range(5):
    result = model({"positions": positions.clone()})
    loss = ((result["forces"] - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
model.eval()  # no dropout in the Hessian
inputs = {"positions": positions.clone()}
forces = model(inputs)["forces"]
hessian = []
for force in forces.flatten():
    hessian.append(-torch.autograd.grad(force, inputs["positions"], retain_graph=True)[0].flatten())
print(torch.stack(hessian).shape)
