# https://github.com/Project-MONAI/GenerativeModels/issues/102
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, channels, 4, 2, 1), nn.ReLU(), nn.Conv2d(channels, 4, 3, 1, 1))
        self.decoder = nn.Sequential(nn.Conv2d(4, channels, 3, 1, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(channels, 1, 4, 2, 1))

    def forward(self, images):
        return self.decoder(self.encoder(images))


class PatchDiscriminator(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, channels, 4, 2, 1), nn.LeakyReLU(0.2),
                                    nn.Conv2d(channels, 1, 4, 2, 1))

    def forward(self, images):
        return self.layers(images)


def adv_loss(logits, target_is_real):
    target = torch.ones_like(logits) if target_is_real else torch.zeros_like(logits)
    return F.mse_loss(logits, target)


def make_images(n):
    images = torch.zeros(n, 1, 16, 16)
    for k in range(n):
        i, j = torch.randint(0, 8, (2,)).tolist()
        images[k, 0, i:i + 8, j:j + 8] = 1.0
    return images


# %%
model, discriminator = AutoEncoder(), PatchDiscriminator()
optimizer_g = torch.optim.Adam(params=model.parameters(), lr=3e-4)
optimizer_d = torch.optim.Adam(params=discriminator.parameters(), lr=1e-4)
train_loader = [make_images(8) for _ in range(10)]
adv_weight = 0.1
d_grad_norms = []

for epoch in range(3):
    for batch in train_loader:
        # Generator part
        optimizer_g.zero_grad(set_to_none=True)
        reconstruction = model(batch)
        logits_fake = discriminator(reconstruction)
        recons_loss = F.l1_loss(reconstruction, batch)
        loss_g = recons_loss + adv_weight * adv_loss(logits_fake, target_is_real=True)
        loss_g.backward()
        optimizer_g.step()

        # Discriminator part
        logits_fake = discriminator(reconstruction.contiguous().detach())
        logits_real = discriminator(batch.contiguous().detach())
        loss_d = 0.5 * (adv_loss(logits_fake, False) + adv_loss(logits_real, True))
        loss_d.backward()
        optimizer_d.step()
        d_grad_norms.append(sum(p.grad.norm().item() for p in discriminator.parameters()))
    print(epoch, recons_loss.item(), loss_d.item(), d_grad_norms[-1])
