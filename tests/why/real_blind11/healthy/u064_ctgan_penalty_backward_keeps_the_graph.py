# https://github.com/sdv-dev/CTGAN/issues/37
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Discriminator(nn.Module):
    def __init__(self, input_dim, dis_dim=32):
        super(Discriminator, self).__init__()
        self.seq = nn.Sequential(nn.Linear(input_dim, dis_dim), nn.LeakyReLU(0.2), nn.Linear(dis_dim, 1))

    def calc_gradient_penalty(self, real_data, fake_data, lambda_=10):
        alpha = torch.rand(real_data.size(0), 1)
        interpolates = alpha * real_data + ((1 - alpha) * fake_data)
        disc_interpolates = self(interpolates)
        gradients = torch.autograd.grad(
            outputs=disc_interpolates, inputs=interpolates,
            grad_outputs=torch.ones(disc_interpolates.size()),
            create_graph=True, retain_graph=True, only_inputs=True
        )[0]
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * lambda_

    def forward(self, input):
        return self.seq(input)


# %%
generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 6))
discriminator = Discriminator(6)
optimizerG = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.9), weight_decay=1e-6)
optimizerD = optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.9))
data = torch.randn(50, 6)

# %%
pens = []
for i in range(200):
    fake = generator(torch.normal(mean=torch.zeros(50, 8), std=1.0))
    fakeact = torch.tanh(fake)
    y_fake = discriminator(fakeact)
    y_real = discriminator(data)

    pen = discriminator.calc_gradient_penalty(data, fakeact)
    loss_d = -(torch.mean(y_real) - torch.mean(y_fake))

    optimizerD.zero_grad()
    pen.backward(retain_graph=True)
    loss_d.backward()
    optimizerD.step()
    pens.append(pen.item())

    fake = generator(torch.normal(mean=torch.zeros(50, 8), std=1.0))
    loss_g = -torch.mean(discriminator(torch.tanh(fake)))
    optimizerG.zero_grad()
    loss_g.backward()
    optimizerG.step()
print(loss_d.item(), pens[0], pens[-1], loss_g.item())
assert pens[-1] < 0.5 * pens[0]
