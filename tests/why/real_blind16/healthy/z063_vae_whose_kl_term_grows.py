# https://github.com/pytorch/examples/issues/631
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc21 = nn.Linear(128, 6)
        self.fc22 = nn.Linear(128, 6)
        self.fc3 = nn.Linear(6, 128)
        self.fc4 = nn.Linear(128, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD, BCE, KLD


def pictures(n):
    """One bar of two pixels' width, lying or standing, somewhere on eight by eight."""
    x = torch.full((n, 8, 8), 0.02)
    at = torch.randint(0, 7, (n,))
    for picture, k in zip(x[: n // 2], at):
        picture[k : k + 2] = 0.98
    for picture, k in zip(x[n // 2 :], at[n // 2 :]):
        picture[:, k : k + 2] = 0.98
    return x


train_set = pictures(1024)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def train(epoch):
    model.train()
    total = torch.zeros(3)
    for index in torch.randperm(len(train_set)).split(64):
        data = train_set[index]
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss, bce, kld = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        total += torch.stack([loss, bce, kld]).detach()
        optimizer.step()
    return (total / len(train_set)).tolist()


# %%
history = [train(epoch) for epoch in range(1, 31)]

# %%
model.eval()
with torch.no_grad():
    drawn = model.decode(torch.randn(300, 6)).view(-1, 8, 8)
    real = pictures(1024).unique(dim=0)
    off = (drawn[:, None] - real[None]).abs().mean((2, 3)).min(1).values.mean().item()
losses, bces, klds = zip(*history)
print(history[0], history[-1], len(real), off)
assert klds[-1] > 1.5 * klds[0]
assert losses[-1] < 0.6 * losses[0] and bces[-1] < bces[0]
assert off < 0.2
