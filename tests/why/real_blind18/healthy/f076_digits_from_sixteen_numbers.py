# https://github.com/ishikawa-group/python_basic_tutorial/blob/main/advanced/mnist_vae2.md
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

batch_size = 64
kinds = (torch.rand(5, 8, 8) > 0.6).float()


def digits(n):
    labels = torch.randint(0, 5, (n,))
    flip = (torch.rand(n, 8, 8) < 0.03).float()
    return (kinds[labels] - flip).abs(), labels


train_loader = torch.utils.data.DataLoader(
    dataset=torch.utils.data.TensorDataset(*digits(2000)),
    batch_size=batch_size,
    shuffle=True,
    num_workers=0
)


class Encoder(nn.Module):
    def __init__(self, input_dim, hidden_dim, latent_dim):
        super(Encoder, self).__init__()
        self.fc = nn.Linear(input_dim, hidden_dim)
        self.fc_mu = nn.Linear(hidden_dim, latent_dim)
        self.fc_var = nn.Linear(hidden_dim, latent_dim)

    def forward(self, x):
        h = torch.relu(self.fc(x))
        mu = self.fc_mu(h)
        log_var = self.fc_var(h)
        eps = torch.randn_like(torch.exp(log_var))
        z = mu + torch.exp(log_var / 2) * eps
        return mu, log_var, z


class Decoder(nn.Module):
    def __init__(self, input_dim, hidden_dim, latent_dim):
        super(Decoder, self).__init__()
        self.fc = nn.Linear(latent_dim, hidden_dim)
        self.fc_output = nn.Linear(hidden_dim, input_dim)

    def forward(self, z):
        h = torch.relu(self.fc(z))
        output = torch.sigmoid(self.fc_output(h))
        return output


class VAE(nn.Module):
    def __init__(self, input_dim, hidden_dim, latent_dim):
        super(VAE, self).__init__()
        self.encoder = Encoder(input_dim, hidden_dim, latent_dim)
        self.decoder = Decoder(input_dim, hidden_dim, latent_dim)

    def forward(self, x):
        mu, log_var, z = self.encoder(x)
        x_decoded = self.decoder(z)
        return x_decoded, mu, log_var, z


def loss_function(label, predict, mu, log_var):
    reconstruction_loss = F.binary_cross_entropy(predict, label, reduction='sum')
    kl_loss = -0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp())
    vae_loss = reconstruction_loss + kl_loss
    return vae_loss, reconstruction_loss, kl_loss


# %%
image_size, h_dim, z_dim = 8 * 8, 32, 16
num_epochs, learning_rate = 10, 5e-3
device = "cpu"
model = VAE(image_size, h_dim, z_dim).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

# %%
losses = []
model.train()
for epoch in range(num_epochs):
    for i, (x, labels) in enumerate(train_loader):
        x = x.to(device).view(-1, image_size).to(torch.float32)
        x_recon, mu, log_var, z = model(x)
        loss, recon_loss, kl_loss = loss_function(x, x_recon, mu, log_var)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item() / len(x))
    print(f'Epoch: {epoch+1}, loss: {loss: 0.4f}, reconstruct loss: {recon_loss: 0.4f}, KL loss: {kl_loss: 0.4f}')

# %%
model.eval()
with torch.no_grad():
    z = torch.randn(100, z_dim).to(device)
    out = model.decoder(z)
    distance = (out.unsqueeze(1) - kinds.view(1, 5, -1)).abs().mean(2).min(1).values.mean().item()
print(losses[0], losses[-1], distance)
assert losses[-1] < 0.5 * losses[0] and distance < 0.2
