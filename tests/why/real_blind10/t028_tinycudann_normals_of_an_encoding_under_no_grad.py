# https://github.com/NVlabs/tiny-cuda-nn/issues/77
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
sh_enc_degree = 4


class Encoding(nn.Module):
    def __init__(self, n_input_dims, n_levels):
        super().__init__()
        self.freqs = nn.Parameter(2.0 ** torch.arange(n_levels))
        self.n_output_dims = n_input_dims * n_levels

    def forward(self, x):
        return torch.sin(x[..., None] * self.freqs).flatten(1)


class NeRFNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoding(3, sh_enc_degree)
        self.sigma_net = nn.Sequential(nn.Linear(self.encoder.n_output_dims, 32), nn.ReLU(), nn.Linear(32, 1))

    def density(self, x):
        with torch.no_grad():
            h = self.encoder(x)
        return F.softplus(self.sigma_net(h)).squeeze(-1)


# %%
model = NeRFNetwork()
inputs = F.normalize(torch.randn(100, 3), dim=-1)
inputs.requires_grad_()
sigma = model.density(inputs)
print(model.encoder(inputs).requires_grad, sigma.requires_grad)

# %%
# the normals are the gradient of sigma to the coordinates
normals = -torch.autograd.grad(sigma, inputs, grad_outputs=torch.ones_like(sigma), create_graph=True)[0]
normals = F.normalize(normals, dim=-1)
print(normals[:3])
