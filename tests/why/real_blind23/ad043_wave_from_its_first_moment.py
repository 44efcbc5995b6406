# https://github.com/Photon-AI-Research/NeuralSolvers/issues/20
import torch
import torch.nn as nn
from torch.autograd import grad
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class LossTerm:
    def __init__(self, dataset, name, norm='L2', weight=1.):
        self.norm = nn.MSELoss() if norm == 'L2' else nn.L1Loss()
        self.dataset = dataset
        self.name = name
        self.weight = weight


class InitialCondition(LossTerm):
    def __init__(self, dataset, name, norm='L2', weight=1.):
        super(InitialCondition, self).__init__(dataset, name, norm, weight)

    def __call__(self, x, model, gt_y):
        prediction = model(x)
        return self.weight * self.norm(prediction, gt_y)


class PDELoss(LossTerm):
    def __init__(self, dataset, pde, name, norm='L2', weight=1.):
        super(PDELoss, self).__init__(dataset, name, norm, weight)
        self.pde = pde

    def __call__(self, x, model):
        x.requires_grad = True
        u = model(x)
        residuals = self.pde(x, u)
        return self.weight * self.norm(residuals, torch.zeros_like(residuals))


def advection(x, u):
    du = grad(u, x, torch.ones_like(u), create_graph=True)[0]
    return du[:, 2] + 0.1 * du[:, 0] + 0.1 * du[:, 1]


class InitialConditionDataset(Dataset):
    def __init__(self, n0):
        self.x = torch.cat([torch.rand(n0, 2) * 2 - 1, torch.zeros(n0, 1)], dim=1)
        self.u = torch.exp(-4 * (self.x[:, 0] ** 2 + self.x[:, 1] ** 2)) * 2 - 1

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.u[idx]


class PDEDataset(Dataset):
    def __init__(self, nf):
        self.xf = torch.cat([torch.rand(nf, 2) * 2 - 1, torch.rand(nf, 1)], dim=1)

    def __len__(self):
        return len(self.xf)

    def __getitem__(self, idx):
        return self.xf[idx]


class MLP(nn.Module):
    def __init__(self, input_size, output_size, hidden_size, num_hidden):
        super(MLP, self).__init__()
        layers = [nn.Linear(input_size, hidden_size), nn.Tanh()]
        for _ in range(num_hidden - 1):
            layers += [nn.Linear(hidden_size, hidden_size), nn.Tanh()]
        self.net = nn.Sequential(*layers, nn.Linear(hidden_size, output_size))

    def forward(self, x):
        return self.net(x)


# %%
ic_dataset, pde_dataset = InitialConditionDataset(256), PDEDataset(256)
initial_condition = InitialCondition(ic_dataset, name='Initial condition', weight=10.)
pde_loss = PDELoss(pde_dataset, advection, name='Advection')
model = MLP(input_size=3, output_size=1, hidden_size=32, num_hidden=2)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

# %%
for epoch in range(60):
    for (x0, u0), xf in zip(DataLoader(ic_dataset, batch_size=64, shuffle=True), DataLoader(pde_dataset, batch_size=64, shuffle=True)):
        optimizer.zero_grad()
        loss_ic = initial_condition(x0, model, u0)
        loss_pde = pde_loss(xf, model)
        pinn_loss = loss_ic + loss_pde
        pinn_loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        print("Epoch", epoch + 1, "initial condition", loss_ic.item(), "pde", loss_pde.item())

with torch.no_grad():
    u_pred = model(ic_dataset.x).reshape(-1)
error = ((u_pred - ic_dataset.u) ** 2).mean().item()
print("error at the first moment", error, "of a variance of", ic_dataset.u.var().item())
