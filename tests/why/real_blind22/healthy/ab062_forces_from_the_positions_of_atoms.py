# https://github.com/TUM-DAML/gemnet_pytorch/issues/6
import torch
import torch.nn as nn

torch.manual_seed(0)


class GemNet(nn.Module):
    def __init__(self, num_types=3, emb_size=16, num_radial=8, cutoff=3.0, direct_forces=False):
        super().__init__()
        self.direct_forces = direct_forces
        self.cutoff = cutoff
        self.atom_emb = nn.Embedding(num_types, emb_size)
        self.register_buffer("centers", torch.linspace(0, cutoff, num_radial))
        self.edge = nn.Sequential(nn.Linear(2 * emb_size + num_radial, 32), nn.SiLU(), nn.Linear(32, emb_size))
        self.out = nn.Sequential(nn.Linear(emb_size, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, inputs):
        Z, R = inputs["Z"], inputs["R"]
        id_a, id_c = inputs["id_a"], inputs["id_c"]
        if not self.direct_forces:
            inputs["R"].requires_grad = True
        D = (R[id_c] - R[id_a]).norm(dim=-1)
        rbf = torch.exp(-4 * (D[:, None] - self.centers) ** 2)
        h = self.atom_emb(Z)
        m = self.edge(torch.cat([h[id_a], h[id_c], rbf], dim=-1)) * (1 - D[:, None] / self.cutoff).clamp(min=0) ** 2
        h = h + torch.zeros_like(h).index_add(0, id_a, m)
        E_t = self.out(h).sum()
        F_t = -torch.autograd.grad(E_t, inputs["R"], create_graph=True)[0]
        inputs["R"].requires_grad = False
        return E_t, F_t


def true_energy(Z, R, id_a, id_c):
    D = (R[id_c] - R[id_a]).norm(dim=-1)
    return 0.5 * ((D - 1 - 0.1 * (Z[id_a] + Z[id_c])) ** 2 * (1 - D / 3).clamp(min=0) ** 2).sum()


# %%
pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
id_a, id_c = torch.tensor(pairs).T
data = []
for _ in range(24):
    Z, R = torch.randint(0, 3, (5,)), torch.randn(5, 3, requires_grad=True)
    E = true_energy(Z, R, id_a, id_c)
    data.append((Z, R.detach(), E.detach(), -torch.autograd.grad(E, R)[0]))

# %%
model = GemNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for epoch in range(8):
    total = 0
    for Z, R, E, F in data:
        E_t, F_t = model({"Z": Z, "R": R, "id_a": id_a, "id_c": id_c})
        loss = 0.01 * (E_t - E).abs() + 0.99 * (F_t - F).norm(dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total / len(data))
print(losses)
