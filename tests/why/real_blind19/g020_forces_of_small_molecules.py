# https://github.com/Lightning-AI/pytorch-lightning/issues/17653
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self, n_types=3, hidden=16):
        super().__init__()
        self.embed = nn.Linear(n_types, hidden)
        self.message = nn.Sequential(nn.Linear(hidden + 8, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.readout = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))
        self.register_buffer("centers", torch.linspace(0, 3, 8))

    def forward(self, graph):
        send, rec = graph.edge_index
        h = self.embed(graph.x)
        dist = (graph.pos[send] - graph.pos[rec]).norm(dim=-1, keepdim=True)
        message = self.message(torch.cat([h[send], torch.exp(-(dist - self.centers) ** 2)], dim=-1))
        h = h + torch.zeros_like(h).index_add(0, rec, message)
        return torch.zeros(graph.num_graphs, 1).index_add(0, graph.batch, self.readout(h))


class MD17Model(nn.Module):
    def __init__(self, network, lr=5e-3, weight=10.0):
        super().__init__()
        self.network, self.lr, self.weight = network, lr, weight

    def forward(self, graph):
        graph.x = graph.x.float()
        energy, force = self.pred_energy_and_force(graph)
        return energy, force

    @torch.enable_grad()
    def pred_energy_and_force(self, graph):
        graph.pos = torch.autograd.Variable(graph.pos, requires_grad=True)
        pred_energy = self.network(graph)
        force, = torch.autograd.grad(pred_energy, graph.pos, grad_outputs=torch.ones_like(pred_energy),
                                     create_graph=True, retain_graph=True)
        return pred_energy.squeeze(-1), -force

    def training_step(self, graph):
        energy, force = self(graph)
        return nn.functional.mse_loss(energy, graph.energy) + self.weight * nn.functional.mse_loss(force, graph.force)

    def validation_step(self, graph):
        energy, force = self(graph)
        return nn.functional.l1_loss(energy, graph.energy), nn.functional.l1_loss(force, graph.force)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Trainer:
    def __init__(self, max_epochs, inference_mode=True):
        self.max_epochs, self.inference_mode = max_epochs, inference_mode

    def fit(self, model, batches):
        optimizer = model.configure_optimizers()
        model.train()
        for epoch in range(self.max_epochs):
            for graph in batches():
                loss = model.training_step(graph)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print("epoch", epoch, "train", loss.item())

    def validate(self, model, batches):
        model.eval()
        with torch.inference_mode() if self.inference_mode else torch.no_grad():
            results = [torch.stack(model.validation_step(graph)) for graph in batches()]
            return torch.stack(results).mean(dim=0)


def batches(n_batches=5, n_graphs=8, n_atoms=4):
    first = torch.arange(n_graphs).repeat_interleave(n_atoms * n_atoms) * n_atoms
    pairs = torch.cartesian_prod(torch.arange(n_atoms), torch.arange(n_atoms)).repeat(n_graphs, 1)
    edge_index = (pairs + first[:, None])[pairs[:, 0] != pairs[:, 1]].t()
    for _ in range(n_batches):
        pos = torch.randn(n_graphs, n_atoms, 3)
        center = pos - pos.mean(dim=1, keepdim=True)
        yield SimpleNamespace(x=torch.eye(3, dtype=torch.long)[torch.randint(0, 3, (n_graphs * n_atoms,))],
                              pos=pos.view(-1, 3), edge_index=edge_index, num_graphs=n_graphs,
                              batch=torch.arange(n_graphs).repeat_interleave(n_atoms),
                              energy=0.5 * center.pow(2).sum(dim=(1, 2)), force=-center.view(-1, 3))


# %%
model = MD17Model(Network())
trainer = Trainer(max_epochs=2)
trainer.fit(model, batches)

# %%
print("valid energy and force MAE", trainer.validate(model, batches))
