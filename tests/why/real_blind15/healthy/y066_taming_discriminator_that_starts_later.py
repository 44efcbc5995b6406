# https://github.com/CompVis/taming-transformers/issues/129
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def adopt_weight(weight, global_step, threshold=0, value=0.):
    if global_step < threshold:
        weight = value
    return weight


def hinge_d_loss(logits_real, logits_fake):
    return 0.5 * (F.relu(1. - logits_real).mean() + F.relu(1. + logits_fake).mean())


class AutoEncoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, dim, 3, 2, 1))
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(dim, 16, 3, 1, 1), nn.ReLU(), nn.Upsample(scale_factor=2)
        )
        self.conv_out = nn.Conv2d(16, 1, 3, 1, 1)

    def get_last_layer(self):
        return self.conv_out.weight

    def forward(self, x):
        return self.conv_out(self.decoder(self.encoder(x)))


class ReconstructionWithDiscriminator(nn.Module):
    def __init__(self, disc_start, disc_factor=1.0, disc_weight=0.1):
        super().__init__()
        self.discriminator = nn.Sequential(
            nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 4, 1, 1)
        )
        self.disc_start, self.disc_factor, self.disc_weight = disc_start, disc_factor, disc_weight

    def calculate_adaptive_weight(self, rec_loss, g_loss, last_layer):
        rec_grads = torch.autograd.grad(rec_loss, last_layer, retain_graph=True)[0]
        g_grads = torch.autograd.grad(g_loss, last_layer, retain_graph=True)[0]
        d_weight = torch.norm(rec_grads) / (torch.norm(g_grads) + 1e-4)
        return torch.clamp(d_weight, 0.0, 1e4).detach() * self.disc_weight

    def forward(self, inputs, reconstructions, optimizer_idx, global_step, last_layer):
        disc_factor = adopt_weight(self.disc_factor, global_step, threshold=self.disc_start)
        if optimizer_idx == 0:
            rec_loss = torch.abs(inputs - reconstructions).mean()
            g_loss = -torch.mean(self.discriminator(reconstructions))
            d_weight = self.calculate_adaptive_weight(rec_loss, g_loss, last_layer)
            return rec_loss + d_weight * disc_factor * g_loss, rec_loss.detach()
        logits_real = self.discriminator(inputs.detach())
        logits_fake = self.discriminator(reconstructions.detach())
        d_loss = disc_factor * hinge_d_loss(logits_real, logits_fake)
        return d_loss, d_loss.detach()


def images(n=32):
    x = -torch.ones(n, 1, 8, 8)
    for i, (y0, x0) in enumerate(torch.randint(0, 5, (n, 2)).tolist()):
        x[i, 0, y0:y0 + 4, x0:x0 + 4] = 1
    return x


# %%
model, loss_fn = AutoEncoder(), ReconstructionWithDiscriminator(disc_start=80)
opt_ae = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.5, 0.9))
opt_disc = torch.optim.Adam(loss_fn.discriminator.parameters(), lr=3e-3, betas=(0.5, 0.9))
disc_before = loss_fn.discriminator[0].weight.detach().clone()
recs, discs, untouched = [], [], None

# %%
for global_step in range(240):
    x = images()
    for optimizer_idx, optimizer in enumerate([opt_ae, opt_disc]):
        xrec = model(x)
        loss, log = loss_fn(x, xrec, optimizer_idx, global_step, model.get_last_layer())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        (recs if optimizer_idx == 0 else discs).append(log.item())
    if global_step == 79:
        untouched = torch.equal(disc_before, loss_fn.discriminator[0].weight)

# %%
print(recs[0], recs[-1], discs[0], discs[80], discs[-1])
assert untouched and not torch.equal(disc_before, loss_fn.discriminator[0].weight)
assert all(d == 0 for d in discs[:80]) and 0 < discs[-1] < discs[80]
assert recs[-1] < 0.4 * recs[0]
