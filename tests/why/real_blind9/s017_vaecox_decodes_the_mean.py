# https://github.com/dmis-lab/VAECox/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def block(inputs, outputs):
	return nn.Sequential(nn.Linear(inputs, outputs), nn.Tanh())


class VAE(nn.Module):
	def __init__(self, num_features=30, hidden_nodes=24):
		super().__init__()
		self.encode = block(num_features, hidden_nodes)
		self.encode_mu, self.encode_si = block(hidden_nodes, 8), block(hidden_nodes, 8)
		self.decode = nn.Sequential(block(8, hidden_nodes), nn.Linear(hidden_nodes, num_features))

	def _reparameterize(self, mu, logvar):
		std = torch.exp(0.5 * logvar)
		return mu + std * torch.randn_like(std)

	def forward(self, x):
		h = self.encode(x)
		mu = self.encode_mu(h)
		logvar = self.encode_si(h)
		z = self._reparameterize(mu, logvar)
		recon = self.decode(mu)
		mse = F.mse_loss(recon, x)
		kld = -0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())
		return mse, kld


# %%
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
x = torch.randn(64, 30)

# %%
for epoch in range(10):
	recon_loss, kld_loss = model(x)
	loss = recon_loss + 0.1 * kld_loss
	optimizer.zero_grad()
	loss.backward()
	optimizer.step()
print(loss.item())
recon_loss, kld_loss = model(x)
loss = recon_loss + 0.1 * kld_loss
optimizer.zero_grad()
loss.backward(retain_graph=True)
