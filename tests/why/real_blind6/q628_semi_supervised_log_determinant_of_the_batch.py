# https://github.com/wohlert/semi-supervised-pytorch/issues/21
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def log_standard_gaussian(x):
    return torch.sum(-0.5 * math.log(2 * math.pi) - x ** 2 / 2, dim=-1)


def log_gaussian(x, mu, log_var):
    log_pdf = - 0.5 * math.log(2 * math.pi) - log_var / 2 - (x - mu) ** 2 / (2 * torch.exp(log_var))
    return torch.sum(log_pdf, dim=-1)


class PlanarNormalizingFlow(nn.Module):
    def __init__(self, in_features):
        super(PlanarNormalizingFlow, self).__init__()
        self.u = nn.Parameter(0.1 * torch.randn(in_features))
        self.w = nn.Parameter(0.1 * torch.randn(in_features))
        self.b = nn.Parameter(torch.ones(1))

    def forward(self, z):
        uw = torch.dot(self.u, self.w)
        muw = -1 + F.softplus(uw)
        u_hat = self.u + (muw - uw) * self.w / torch.sum(self.w ** 2)
        zwb = torch.mv(z, self.w) + self.b
        f_z = z + (u_hat.view(1, -1) * torch.tanh(zwb).view(-1, 1))
        psi = (1 - torch.tanh(zwb) ** 2).view(-1, 1) * self.w.view(1, -1)
        logdet_jacobian = torch.log(torch.abs(1 + torch.mv(psi, u_hat)) + 1e-8)
        return f_z, logdet_jacobian


class NormalizingFlows(nn.Module):
    def __init__(self, in_features, n_flows=2):
        super(NormalizingFlows, self).__init__()
        self.flows = nn.ModuleList([PlanarNormalizingFlow(in_features) for _ in range(n_flows)])

    def forward(self, z):
        log_det_jacobian = []
        for flow in self.flows:
            z, j = flow(z)
            log_det_jacobian.append(j)
        return z, sum(log_det_jacobian)


class VariationalAutoencoder(nn.Module):
    def __init__(self, x_dim=16, z_dim=4, h_dim=12):
        super(VariationalAutoencoder, self).__init__()
        self.h = nn.Linear(x_dim, h_dim)
        self.mu_layer, self.log_var_layer = nn.Linear(h_dim, z_dim), nn.Linear(h_dim, z_dim)
        self.decoder = nn.Sequential(nn.Linear(z_dim, h_dim), nn.ReLU(), nn.Linear(h_dim, x_dim), nn.Sigmoid())
        self.flow = None

    def add_flow(self, flow):
        self.flow = flow

    def _kld(self, z, q_param):
        (mu, log_var) = q_param
        if self.flow is not None:
            f_z, log_det_z = self.flow(z)
            self.z_0, self.z_k, self.mu, self.log_var, self.log_det = z, f_z, mu, log_var, log_det_z
            qz = log_gaussian(z, mu, log_var) - sum(log_det_z)
            z = f_z
        else:
            qz = log_gaussian(z, mu, log_var)
        pz = log_standard_gaussian(z)
        return qz - pz

    def forward(self, x):
        h = torch.relu(self.h(x))
        mu, log_var = self.mu_layer(h), F.softplus(self.log_var_layer(h))
        z = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        self.kl_divergence = self._kld(z, (mu, log_var))
        return self.decoder(z)


# %%
model = VariationalAutoencoder()
model.add_flow(NormalizingFlows(4, n_flows=2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)

# %%
for epoch in range(3):
    u = (torch.rand(32, 16) > 0.5).float()
    reconstruction = model(u)
    likelihood = F.binary_cross_entropy(reconstruction, u, reduction='none').sum(-1)
    kl = model.kl_divergence
    L = torch.mean(likelihood + kl)
    optimizer.zero_grad()
    L.backward()
    optimizer.step()
    print(epoch, L.item(), kl.mean().item())
