# https://github.com/EmilienDupont/wgan-gp/blob/master/training.py
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable
from torch.autograd import grad as torch_grad

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, latent_dim=8):
        super(Generator, self).__init__()
        self.latent_dim = latent_dim
        self.latent_to_features = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.Sigmoid())

    def forward(self, input_data):
        return self.latent_to_features(input_data).view(-1, 1, 8, 8)

    def sample_latent(self, num_samples):
        return torch.randn((num_samples, self.latent_dim))


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.image_to_features = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1), nn.LeakyReLU(0.2))
        self.features_to_prob = nn.Linear(16 * 4, 1)

    def forward(self, input_data):
        x = self.image_to_features(input_data)
        return self.features_to_prob(x.view(input_data.size()[0], -1))


class Trainer():
    def __init__(self, generator, discriminator, gen_optimizer, dis_optimizer, gp_weight=10, critic_iterations=5):
        self.G = generator
        self.G_opt = gen_optimizer
        self.D = discriminator
        self.D_opt = dis_optimizer
        self.losses = {'G': [], 'D': [], 'GP': [], 'gradient_norm': []}
        self.num_steps = 0
        self.gp_weight = gp_weight
        self.critic_iterations = critic_iterations

    def _critic_train_iteration(self, data):
        # Get generated data
        batch_size = data.size()[0]
        generated_data = self.sample_generator(batch_size)

        # Calculate probabilities on real and generated data
        data = Variable(data)
        d_real = self.D(data)
        d_generated = self.D(generated_data)

        # Get gradient penalty
        gradient_penalty = self._gradient_penalty(data, generated_data)
        self.losses['GP'].append(gradient_penalty.item())

        # Create total loss and optimize
        self.D_opt.zero_grad()
        d_loss = d_generated.mean() - d_real.mean() + gradient_penalty
        d_loss.backward()
        self.D_opt.step()
        self.losses['D'].append(d_loss.item())

    def _generator_train_iteration(self, data):
        self.G_opt.zero_grad()
        batch_size = data.size()[0]
        generated_data = self.sample_generator(batch_size)

        # Calculate loss and optimize
        d_generated = self.D(generated_data)
        g_loss = - d_generated.mean()
        g_loss.backward()
        self.G_opt.step()
        self.losses['G'].append(g_loss.item())

    def _gradient_penalty(self, real_data, generated_data):
        batch_size = real_data.size()[0]

        # Calculate interpolation
        alpha = torch.rand(batch_size, 1, 1, 1)
        alpha = alpha.expand_as(real_data)
        interpolated = alpha * real_data.data + (1 - alpha) * generated_data.data
        interpolated = Variable(interpolated, requires_grad=True)

        # Calculate probability of interpolated examples
        prob_interpolated = self.D(interpolated)

        # Calculate gradients of probabilities with respect to examples
        gradients = torch_grad(outputs=prob_interpolated, inputs=interpolated,
                               grad_outputs=torch.ones(prob_interpolated.size()),
                               create_graph=True, retain_graph=True)[0]

        gradients = gradients.view(batch_size, -1)
        self.losses['gradient_norm'].append(gradients.norm(2, dim=1).mean().item())

        # Derivatives of the gradient close to 0 can cause problems because of
        # the square root, so manually calculate norm and add epsilon
        gradients_norm = torch.sqrt(torch.sum(gradients ** 2, dim=1) + 1e-12)
        return self.gp_weight * ((gradients_norm - 1) ** 2).mean()

    def _train_epoch(self, data_loader):
        for i, data in enumerate(data_loader):
            self.num_steps += 1
            self._critic_train_iteration(data[0])
            # Only update generator every |critic_iterations| iterations
            if self.num_steps % self.critic_iterations == 0:
                self._generator_train_iteration(data[0])

    def train(self, data_loader, epochs):
        for epoch in range(epochs):
            self._train_epoch(data_loader)

    def sample_generator(self, num_samples):
        latent_samples = Variable(self.G.sample_latent(num_samples))
        return self.G(latent_samples)


# %%
images = torch.zeros(1600, 1, 8, 8)
images[:, :, 2:6, 2:6] = 1
images = (images * (0.7 + 0.3 * torch.rand(1600, 1, 1, 1)) + 0.05 * torch.randn(1600, 1, 8, 8)).clamp(0, 1)
data_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images), batch_size=32, shuffle=True)
generator, discriminator = Generator(), Discriminator()
G_optimizer = optim.Adam(generator.parameters(), lr=4e-3, betas=(.5, .9))
D_optimizer = optim.Adam(discriminator.parameters(), lr=4e-3, betas=(.5, .9))
trainer = Trainer(generator, discriminator, G_optimizer, D_optimizer, critic_iterations=3)
trainer.train(data_loader, epochs=6)

# %%
with torch.no_grad():
    fakes = trainer.sample_generator(64)
    inside = fakes[:, :, 2:6, 2:6].mean().item()
    outside = (fakes.sum() - fakes[:, :, 2:6, 2:6].sum()).item() / (64 * 48)
norm = sum(trainer.losses['gradient_norm'][-50:]) / 50
print(trainer.losses['gradient_norm'][0], norm, inside, outside)
assert abs(norm - 1) < 0.3 and inside > 0.6 and outside < 0.25
