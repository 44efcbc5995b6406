# https://github.com/znxlwm/pytorch-generative-model-collections/issues/3
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import grad

torch.manual_seed(0)


class generator(nn.Module):
    def __init__(self, input_dim=8, output_dim=1, input_size=8):
        super(generator, self).__init__()
        self.input_size, self.output_dim = input_size, output_dim
        self.fc = nn.Sequential(nn.Linear(input_dim, 64), nn.ReLU(), nn.Linear(64, 16 * (input_size // 2) ** 2), nn.ReLU())
        self.deconv = nn.Sequential(nn.ConvTranspose2d(16, output_dim, 4, 2, 1), nn.Tanh())

    def forward(self, input):
        x = self.fc(input)
        x = x.view(-1, 16, self.input_size // 2, self.input_size // 2)
        return self.deconv(x)


class discriminator(nn.Module):
    def __init__(self, input_dim=1, output_dim=1, input_size=8):
        super(discriminator, self).__init__()
        self.conv = nn.Sequential(nn.Conv2d(input_dim, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2))
        self.fc = nn.Linear(32 * (input_size // 4) ** 2, output_dim)

    def forward(self, input):
        x = self.conv(input)
        return self.fc(x.view(x.size(0), -1))


def initialize_weights(net):
    for m in net.modules():
        if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            m.weight.data.normal_(0, 0.15)
            m.bias.data.zero_()


class WGAN_GP:
    def __init__(self, batch_size=32, z_dim=8, lambda_=10, n_critic=2):
        self.batch_size, self.z_dim, self.lambda_, self.n_critic = batch_size, z_dim, lambda_, n_critic
        self.G, self.D = generator(), discriminator()
        initialize_weights(self.G)
        initialize_weights(self.D)
        self.G_optimizer = optim.Adam(self.G.parameters(), lr=4e-3, betas=(0.5, 0.999))
        self.D_optimizer = optim.Adam(self.D.parameters(), lr=4e-3, betas=(0.5, 0.999))
        self.train_hist = {'D_loss': [], 'G_loss': [], 'norm': []}

    def batches(self, n):
        """White squares of four by four at one of four places."""
        x_ = torch.full((n, 1, 8, 8), -0.9)
        place = torch.randint(0, 4, (n,))
        for k in range(4):
            r, c = divmod(k, 2)
            x_[place == k, :, 4 * r:4 * r + 4, 4 * c:4 * c + 4] = 0.9
        return x_

    def train(self, iterations):
        self.D.train()
        self.G.train()
        for iter in range(iterations):
            x_, z_ = self.batches(self.batch_size), torch.rand((self.batch_size, self.z_dim))

            # update D network
            self.D_optimizer.zero_grad()
            D_real = self.D(x_)
            D_real_loss = -torch.mean(D_real)
            G_ = self.G(z_)
            D_fake = self.D(G_)
            D_fake_loss = torch.mean(D_fake)

            # gradient penalty
            alpha = torch.rand((self.batch_size, 1, 1, 1))
            x_hat = alpha * x_.data + (1 - alpha) * G_.data
            x_hat.requires_grad = True
            pred_hat = self.D(x_hat)
            gradients = grad(outputs=pred_hat, inputs=x_hat, grad_outputs=torch.ones(pred_hat.size()),
                             create_graph=True, retain_graph=True, only_inputs=True)[0]
            norm = gradients.view(gradients.size()[0], -1).norm(2, 1)
            gradient_penalty = self.lambda_ * ((norm - 1) ** 2).mean()

            D_loss = D_real_loss + D_fake_loss + gradient_penalty
            D_loss.backward()
            self.D_optimizer.step()
            self.train_hist['norm'].append(norm.mean().item())

            if (iter + 1) % self.n_critic == 0:
                # update G network
                self.G_optimizer.zero_grad()
                G_ = self.G(z_)
                D_fake = self.D(G_)
                G_loss = -torch.mean(D_fake)
                self.train_hist['G_loss'].append(G_loss.item())
                G_loss.backward()
                self.G_optimizer.step()
                self.train_hist['D_loss'].append(D_loss.item())


# %%
gan = WGAN_GP()
start = [p.detach().clone() for p in gan.G.parameters()]
gan.train(300)

# %%
with torch.no_grad():
    samples = gan.G(torch.rand((400, 8)))
quarters = samples.unfold(2, 4, 4).unfold(3, 4, 4).mean((1, 4, 5)).flatten(1)
white = quarters.max(1).values
norm = sum(gan.train_hist['norm'][-50:]) / 50
print(norm, white.mean().item(), quarters.sum(1).mean().item(), quarters.argmax(1).unique(return_counts=True))
assert 0.6 < norm < 1.4
assert all(not torch.equal(a, b) for a, b in zip(start, gan.G.parameters()))
assert white.mean() > 0.5
