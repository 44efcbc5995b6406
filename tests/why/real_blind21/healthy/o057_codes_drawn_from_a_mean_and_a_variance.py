# https://github.com/pytorch/examples/blob/main/vae/main.py
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()

        self.fc1 = nn.Linear(64, 64)
        self.fc21 = nn.Linear(64, 4)
        self.fc22 = nn.Linear(64, 4)
        self.fc3 = nn.Linear(4, 64)
        self.fc4 = nn.Linear(64, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        # clamp to avoid numerical issues with the continuous Bernoulli log normalizing constant
        return torch.clamp(torch.sigmoid(self.fc4(h3)), min=1e-4, max=1.0 - 1e-4)

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def atanh(x):
    # inverse hyperbolic tangent, used to compute the log normalizing constant of the continuous Bernoulli
    return 0.5 * (torch.log(1.0 + x) - torch.log(1.0 - x))


def cont_bern_log_norm(lam, l_lim=0.49, u_lim=0.51):
    cut_lam = torch.where(torch.max(torch.le(lam, l_lim), torch.gt(lam, u_lim)), lam, l_lim * torch.ones_like(lam))
    log_norm = torch.log(torch.abs(2.0 * atanh(1 - 2.0 * cut_lam))) - torch.log(torch.abs(1 - 2.0 * cut_lam))
    taylor = torch.log(torch.tensor(2.0)) + 4.0 / 3.0 * torch.pow(lam - 0.5, 2) + 104.0 / 45.0 * torch.pow(lam - 0.5, 4)
    return torch.where(torch.max(torch.le(lam, l_lim), torch.gt(lam, u_lim)), log_norm, taylor)


# Reconstruction + KL divergence losses summed over all elements and batch
def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction='sum')
    NLNC = -torch.sum(cont_bern_log_norm(recon_x))  # negative log normalizing constant
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + NLNC + KLD


# %%
kinds = torch.rand(4, 1, 8, 8).round() * 0.9 + 0.05
train_set = (kinds[torch.randint(0, 4, (1024,))] + 0.05 * torch.rand(1024, 1, 8, 8)).clamp(0, 1)
train_loader = torch.utils.data.DataLoader(train_set, batch_size=128, shuffle=True)
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def train(epoch):
    model.train()
    train_loss, kld = 0, 0
    for batch_idx, data in enumerate(train_loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        kld += -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum().item()
        optimizer.step()
    return train_loss / len(train_set), kld / len(train_set)


# %%
history = []
for epoch in range(1, 31):
    history.append(train(epoch))
    if epoch % 10 == 0:
        print('====> Epoch: {} Average loss: {:.4f} KL: {:.4f}'.format(epoch, *history[-1]))

# %%
model.eval()
with torch.no_grad():
    recon, mu, logvar = model(train_set)
    error = (recon - train_set.view(-1, 64)).abs().mean().item()
print(history[0], history[-1], error)
assert history[-1][0] < history[0][0] - 10 and history[-1][1] > history[0][1] and error < 0.2
