# https://github.com/rishikksh20/TFGAN/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(4, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv1d(8, 1, 3, padding=1), nn.Tanh())

    def forward(self, mel):
        return self.net(mel)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(1, 8, 3, 2, 1), nn.Conv1d(8, 8, 3, 2, 1), nn.Conv1d(8, 1, 3, 1, 1)])

    def forward(self, x):
        feats = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
            feats.append(x)
        return [x] + feats


# %%
model_g, model_d = Generator(), Discriminator()
optim_g = torch.optim.Adam(model_g.parameters(), lr=1e-3)
optim_d = torch.optim.Adam(model_d.parameters(), lr=1e-3)
lambda_feat, lambda_adv = 10.0, 1.0

# %%
for step in range(3):
    mel, audio = torch.randn(2, 4, 32), torch.randn(2, 1, 32)
    fake_audio = model_g(mel)

    # discriminator
    disc_fake = model_d(fake_audio.detach())
    disc_real = model_d(audio)
    loss_d = torch.mean((disc_real[0] - 1) ** 2) + torch.mean(disc_fake[0] ** 2)
    optim_d.zero_grad()
    loss_d.backward()
    optim_d.step()

    # generator
    disc_real = model_d(audio)
    disc_fake_g = model_d(fake_audio)
    adv_loss = torch.mean((disc_fake_g[0] - 1) ** 2)
    disc_fake = model_d(fake_audio.detach())
    feat_loss = 0.0
    for feat_f, feat_r in zip(disc_fake[1:], disc_real[1:]):
        feat_loss += torch.mean(torch.abs(feat_f - feat_r))
    loss_g = lambda_adv * adv_loss + lambda_feat * feat_loss
    optim_g.zero_grad()
    grads_of_features = torch.autograd.grad(feat_loss, model_g.net[0].weight, allow_unused=True, retain_graph=True)[0]
    loss_g.backward()
    optim_g.step()
    print(loss_d.item(), loss_g.item())
