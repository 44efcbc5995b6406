# https://github.com/Yangyangii/GAN-Tutorial/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    """
        Simple Generator w/ MLP
    """
    def __init__(self, input_size=8, num_classes=64):
        super(Generator, self).__init__()
        self.layer = nn.Sequential(
            nn.Linear(input_size, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 64),
            nn.BatchNorm1d(64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, num_classes),
            nn.Tanh()
        )

    def forward(self, x):
        y_ = self.layer(x)
        y_ = y_.view(x.size(0), 1, 8, 8)
        return y_


class Discriminator(nn.Module):
    """
        Simple Discriminator w/ MLP
    """
    def __init__(self, input_size=64, num_classes=1):
        super(Discriminator, self).__init__()
        self.layer = nn.Sequential(
            nn.Linear(input_size, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, num_classes),
            nn.Sigmoid(),
        )

    def forward(self, x):
        y_ = x.view(x.size(0), -1)
        y_ = self.layer(y_)
        return y_


def digits(n):
    img = torch.full((n, 1, 8, 8), -0.9)
    column = torch.randint(2, 6, (n,))
    img[torch.arange(n), 0, :, column] = 0.9
    return (img + 0.05 * torch.randn(n, 1, 8, 8)).clamp(-1, 1)


# %%
D = Discriminator()
G = Generator()
criterion = nn.BCELoss()
D_opt = torch.optim.Adam(D.parameters(), lr=0.001, betas=(0.5, 0.999))
G_opt = torch.optim.Adam(G.parameters(), lr=0.001, betas=(0.5, 0.999))
batch_size, n_noise, n_critic = 64, 8, 1
D_labels = torch.ones([batch_size, 1])
D_fakes = torch.zeros([batch_size, 1])
moved_by_other = []

# %%
for step in range(500):
    # Training Discriminator
    x = digits(batch_size)
    x_outputs = D(x)
    D_x_loss = criterion(x_outputs, D_labels)
    z = torch.randn(batch_size, n_noise)
    z_outputs = D(G(z))
    D_z_loss = criterion(z_outputs, D_fakes)
    D_loss = D_x_loss + D_z_loss
    g_before = [p.detach().clone() for p in G.parameters()]
    D.zero_grad()
    D_loss.backward()
    D_opt.step()
    moved_by_other.append(any(not torch.equal(a, b) for a, b in zip(g_before, G.parameters())))

    if step % n_critic == 0:
        # Training Generator
        z = torch.randn(batch_size, n_noise)
        z_outputs = D(G(z))
        G_loss = criterion(z_outputs, D_labels)
        d_before = [p.detach().clone() for p in D.parameters()]
        G.zero_grad()
        G_loss.backward()
        G_opt.step()
        moved_by_other.append(any(not torch.equal(a, b) for a, b in zip(d_before, D.parameters())))

    if step % 100 == 0:
        print('Step: {}, D Loss: {}, G Loss: {}'.format(step, D_loss.item(), G_loss.item()))

# %%
G.eval()
with torch.no_grad():
    img = G(torch.randn(200, n_noise))
    columns = img.mean((1, 2))
    contrast = (columns.max(1).values - columns.min(1).values).mean().item()
    borders = columns[:, [0, 1, 6, 7]].mean().item()
print(contrast, borders, any(moved_by_other))
assert not any(moved_by_other)
assert contrast > 1.0 and borders < -0.6
