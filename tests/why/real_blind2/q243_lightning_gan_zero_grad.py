# https://github.com/Lightning-AI/pytorch-lightning/issues/591
import torch
import torch.nn as nn
import torch.nn.functional as F


class LightningModule(nn.Module):
    def optimizer_step(self, epoch_nb, batch_nb, optimizer, optimizer_i):
        optimizer.step()
        # clear gradients
        optimizer.zero_grad()


class GAN(LightningModule):
    def __init__(self, latent_dim=6, img=16):
        super().__init__()
        self.latent_dim = latent_dim
        self.generator = nn.Sequential(nn.Linear(latent_dim, 24), nn.LeakyReLU(0.2), nn.Linear(24, img), nn.Tanh())
        self.discriminator = nn.Sequential(nn.Linear(img, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1), nn.Sigmoid())
        self.generated_imgs = None

    def adversarial_loss(self, y_hat, y):
        return F.binary_cross_entropy(y_hat, y)

    def training_step(self, batch, batch_nb, optimizer_i):
        imgs, _ = batch
        if optimizer_i == 0:
            z = torch.randn(imgs.shape[0], self.latent_dim)
            self.generated_imgs = self.generator(z)
            valid = torch.ones(imgs.size(0), 1)
            g_loss = self.adversarial_loss(self.discriminator(self.generated_imgs), valid)
            return {'loss': g_loss, 'log': {'g_loss': g_loss.item()}}
        if optimizer_i == 1:
            valid, fake = torch.ones(imgs.size(0), 1), torch.zeros(imgs.size(0), 1)
            real_loss = self.adversarial_loss(self.discriminator(imgs), valid)
            fake_loss = self.adversarial_loss(self.discriminator(self.generated_imgs.detach()), fake)
            d_loss = (real_loss + fake_loss) / 2
            return {'loss': d_loss, 'log': {'d_loss': d_loss.item()}}

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        return [opt_g, opt_d]


class Trainer:
    def fit(self, model, loader, max_nb_epochs=1):
        self.optimizers = model.configure_optimizers()
        self.seen, self.expected = [], []
        for epoch_nb in range(max_nb_epochs):
            for batch_nb, batch in enumerate(loader):
                self.run_training_batch(model, batch, batch_nb, epoch_nb)

    def run_training_batch(self, model, batch, batch_nb, epoch_nb):
        for opt_idx, optimizer in enumerate(self.optimizers):
            loss = model.training_step(batch, batch_nb, opt_idx)['loss']
            weight = optimizer.param_groups[0]['params'][0]
            own, = torch.autograd.grad(loss, weight, retain_graph=True)  # debugging
            loss.backward()
            self.expected.append(own)
            self.seen.append(weight.grad.clone())
            model.optimizer_step(epoch_nb, batch_nb, optimizer, opt_idx)


# %%
loader = [(torch.rand(8, 16) * 2 - 1, torch.zeros(8)) for _ in range(3)]
gan = GAN()
trainer = Trainer()
trainer.fit(gan, loader)

# %%
for seen, expected in zip(trainer.seen, trainer.expected):
    print((seen - expected).abs().max())
