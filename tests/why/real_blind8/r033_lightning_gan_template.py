# https://github.com/Lightning-AI/pytorch-lightning/issues/557
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GAN:
    def __init__(self, latent_dim=8):
        self.latent_dim = latent_dim
        self.generator = nn.Sequential(nn.Linear(latent_dim, 32), nn.LeakyReLU(0.2), nn.Linear(32, 16), nn.Tanh())
        self.discriminator = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())

    def adversarial_loss(self, y_hat, y):
        return F.binary_cross_entropy(y_hat, y)

    def training_step(self, imgs, batch_nb, optimizer_i):
        # train generator
        if optimizer_i == 0:
            z = torch.randn(imgs.shape[0], self.latent_dim)
            self.generated_imgs = self.generator(z)
            valid = torch.ones(imgs.size(0), 1)
            return self.adversarial_loss(self.discriminator(self.generated_imgs), valid)

        # train discriminator
        if optimizer_i == 1:
            grad = self.discriminator[0].weight.grad
            self.seen = None if grad is None else grad.clone()
            print(batch_nb, "gradient of the discriminator:", None if grad is None else grad.norm().item())
            valid = torch.ones(imgs.size(0), 1)
            real_loss = self.adversarial_loss(self.discriminator(imgs), valid)
            fake = torch.zeros(imgs.size(0), 1)
            fake_loss = self.adversarial_loss(self.discriminator(self.generated_imgs.detach()), fake)
            return (real_loss + fake_loss) / 2

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        return [opt_g, opt_d]


# %%
def fit(model, batches):
    optimizers = model.configure_optimizers()
    for batch_nb, imgs in enumerate(batches):
        # call training_step once per optimizer
        for opt_idx, optimizer in enumerate(optimizers):
            loss = model.training_step(imgs, batch_nb, opt_idx)
            loss.backward()
            optimizer.step()
            # clear gradients
            optimizer.zero_grad()


# %%
model = GAN()
fit(model, [torch.rand(8, 16) * 2 - 1 for _ in range(3)])
