# https://github.com/LianpoWang/SLIIF/issues/13
import torch
import torch.nn as nn

torch.manual_seed(0)


class RES_MLP(nn.Module):
    def __init__(self, in_dim, out_dim, hidden_list):
        super().__init__()
        layers, lastv = [], in_dim
        for hidden in hidden_list:
            layers += [nn.Linear(lastv, hidden), nn.ReLU()]
            lastv = hidden
        layers.append(nn.Linear(lastv, out_dim))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x) + x


class COOD_MLP(nn.Module):
    def __init__(self, in_dim, out_dim, hidden_list):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, hidden_list[0]), nn.ReLU(), nn.Linear(hidden_list[0], out_dim))

    def forward(self, x):
        return self.net(x)


class RESMLPS(nn.Module):
    def __init__(self, in_dim, out_dim, hidden_list, coord_hidden_list, n=3):
        super().__init__()
        self.mlps = [RES_MLP(in_dim, in_dim, coord_hidden_list) for _ in range(n)]
        self.cood_mlp = COOD_MLP(2, in_dim, hidden_list)
        self.expansionNet = nn.Linear(in_dim, out_dim)

    def forward(self, feat, coord):
        x = feat + self.cood_mlp(coord)
        for mlp in self.mlps:
            x = mlp(x)
        return self.expansionNet(x)


# %%
model = RESMLPS(12, 3, [16], [16])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.L1Loss()
w0 = model.mlps[0].layers[0].weight.detach().clone()

# %%
for step in range(4):
    feat, coord, gt = torch.randn(32, 12), torch.rand(32, 2) * 2 - 1, torch.rand(32, 3)
    pred = model(feat, coord)
    loss = loss_fn(pred, gt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
