# https://github.com/pytorch/pytorch/issues/132929
import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, z_dim=6, hidden=16, out=12):
        super().__init__()
        self.fc1 = nn.Linear(z_dim, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, h):
        return torch.sigmoid(self.fc2(torch.relu(self.fc1(h))))


class Model(nn.Module):
    def __init__(self, n_in=12, z_dim=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 16), nn.ReLU(), nn.Linear(16, z_dim))
        self.decoder = Decoder(z_dim, out=n_in)
        self.critic = nn.Sequential(nn.Linear(n_in, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        dec = self.decoder(self.encoder(x))
        z = self.critic(dec)
        return dec, z


# %%
model = Model()
model = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.rand(8, 12)

# %%
dec, z = model(x)
recon_loss = nn.functional.mse_loss(dec, x)
print(dec.requires_grad, z.requires_grad, dec.grad_fn, z.grad_fn)

# %%
# penalty on how strongly the critic reacts to the reconstruction
grad_dec, = torch.autograd.grad(z.sum(), dec, retain_graph=True)
loss = recon_loss + grad_dec.detach().norm(dim=1).mean() * z.mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
