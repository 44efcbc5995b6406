# https://github.com/openclimatefix/skillful_nowcasting/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def loss_hinge_disc(score_generated, score_real):
    """Discriminator hinge loss."""
    return torch.mean(F.relu(1.0 - score_real)) + torch.mean(F.relu(1.0 + score_generated))


def loss_hinge_gen(score_generated):
    """Generate hinge loss."""
    return -torch.mean(score_generated)


class Generator(nn.Module):
    def __init__(self, inputs=2, outputs=3):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(inputs + 1, 16, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(16, outputs, 3, padding=1))

    def forward(self, x):
        z = torch.randn(x.size(0), 1, *x.shape[2:])
        return torch.sigmoid(self.net(torch.cat([x, z], dim=1)))


class DGMR(nn.Module):
    def __init__(self, grid_lambda=20.0, generation_steps=3):
        super().__init__()
        self.grid_lambda, self.generation_steps = grid_lambda, generation_steps
        self.generator = Generator()
        self.discriminator = nn.Sequential(nn.Conv2d(5, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(144, 1))
        self.d_opt = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4)
        self.g_opt = torch.optim.Adam(self.generator.parameters(), lr=5e-5)

    def generator_losses(self, images, future_images):
        predictions = [self.generator(images) for _ in range(self.generation_steps)]
        grid_cell_reg = (torch.stack(predictions).mean(0) - future_images).abs().mean()
        generated_sequence = [torch.cat([images, x], dim=1) for x in predictions]
        generator_disc_loss = loss_hinge_gen(torch.cat(generated_sequence, dim=0))
        return generator_disc_loss, grid_cell_reg

    def training_step(self, images, future_images):
        # Optimize Discriminator #
        generated_sequence = torch.cat([images, self.generator(images).detach()], dim=1)
        real_sequence = torch.cat([images, future_images], dim=1)
        discriminator_loss = loss_hinge_disc(self.discriminator(generated_sequence), self.discriminator(real_sequence))
        self.d_opt.zero_grad()
        discriminator_loss.backward()
        self.d_opt.step()
        # Optimize Generator #
        generator_disc_loss, grid_cell_reg = self.generator_losses(images, future_images)
        generator_loss = generator_disc_loss + self.grid_lambda * grid_cell_reg
        self.g_opt.zero_grad()
        generator_loss.backward()
        self.g_opt.step()
        return discriminator_loss.item(), generator_disc_loss.item()


# %%
model = DGMR()
images, future_images = torch.rand(4, 2, 8, 8), torch.rand(4, 3, 8, 8)
for step in range(5):
    print(step, model.training_step(images, future_images))
