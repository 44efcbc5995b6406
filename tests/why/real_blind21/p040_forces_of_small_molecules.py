# https://github.com/torchmd/torchmd-net/issues/77
import torch
import torch.nn as nn

torch.manual_seed(0)


class Distance(nn.Module):
    def __init__(self, cutoff_upper):
        super(Distance, self).__init__()
        self.cutoff_upper = cutoff_upper

    def forward(self, pos):
        n = pos.size(0)
        src, dst = torch.nonzero(~torch.eye(n, dtype=torch.bool), as_tuple=True)
        edge_vec = pos[src] - pos[dst]
        edge_weight = torch.norm(edge_vec, dim=-1)
        mask = edge_weight < self.cutoff_upper
        return torch.stack([src, dst])[:, mask], edge_weight[mask], edge_vec[mask]


class GatedEquivariantBlock(nn.Module):
    def __init__(self, hidden_channels, out_channels):
        super(GatedEquivariantBlock, self).__init__()
        self.out_channels = out_channels
        self.vec1_proj = nn.Linear(hidden_channels, hidden_channels, bias=False)
        self.vec2_proj = nn.Linear(hidden_channels, out_channels, bias=False)
        self.update_net = nn.Sequential(
            nn.Linear(hidden_channels * 2, hidden_channels), nn.SiLU(), nn.Linear(hidden_channels, out_channels * 2))

    def forward(self, x, v):
        vec1 = torch.norm(self.vec1_proj(v), dim=-2)
        vec2 = self.vec2_proj(v)

        x = torch.cat([x, vec1], dim=-1)
        x, v = torch.split(self.update_net(x), self.out_channels, dim=-1)
        v = v.unsqueeze(1) * vec2
        return x, v


class TorchMD_ET(nn.Module):
    def __init__(self, hidden_channels=16, num_rbf=8, cutoff_upper=3.0):
        super(TorchMD_ET, self).__init__()
        self.embedding = nn.Embedding(10, hidden_channels)
        self.distance = Distance(cutoff_upper)
        self.register_buffer('means', torch.linspace(0, cutoff_upper, num_rbf))
        self.filter = nn.Linear(num_rbf, 2 * hidden_channels)

    def forward(self, z, pos):
        x = self.embedding(z)
        (src, dst), r, d = self.distance(pos)
        cut = 0.5 * (torch.cos(r * torch.pi / self.distance.cutoff_upper) + 1)
        w = self.filter(torch.exp(-(r[:, None] - self.means) ** 2)) * cut[:, None]
        wx, wv = w.chunk(2, dim=-1)
        message, direction = wx * x[src], (d / r[:, None])[:, :, None] * (wv * x[src])[:, None, :]
        v = torch.zeros(x.size(0), 3, x.size(1)).index_add(0, dst, direction)
        return x + torch.zeros_like(x).index_add(0, dst, message), v


class TorchMD_Net(nn.Module):
    def __init__(self, hidden_channels=16):
        super(TorchMD_Net, self).__init__()
        self.representation_model = TorchMD_ET(hidden_channels)
        self.output_model = nn.ModuleList([
            GatedEquivariantBlock(hidden_channels, hidden_channels // 2), GatedEquivariantBlock(hidden_channels // 2, 1)])

    def forward(self, z, pos):
        pos.requires_grad_(True)
        x, v = self.representation_model(z, pos)
        for layer in self.output_model:
            x, v = layer(x, v)
        out = x.sum()
        dy, = torch.autograd.grad(out, pos, create_graph=True)
        return out, -dy


# %%
molecule = torch.tensor([[0.0, 0.0, 0.0], [1.1, 0.0, 0.0], [0.0, 1.2, 0.0], [0.3, 0.4, 1.3], [1.2, 1.3, 1.0]])
z = torch.tensor([6, 1, 1, 8, 1])
samples = [molecule + 0.1 * torch.randn_like(molecule) for _ in range(20)]
for i in range(5, 20):
    samples[i][4] += torch.tensor([0.25, 0.25, 0.25]) * i
energies = [-sum(torch.exp(-torch.pdist(pos))) for pos in samples]
forces = [0.3 * torch.tanh(pos.mean(0) - pos) for pos in samples]

model = TorchMD_Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# %%
losses = []
for step in range(20):
    y, neg_dy = model(z, samples[step].clone())
    loss = (y - energies[step]) ** 2 + (neg_dy - forces[step]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    print(step, loss.item())
