# https://github.com/coqui-ai/TTS/issues/419
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class AttrDict(dict):
    __getattr__ = dict.__getitem__


class MelganGenerator(nn.Module):
    def __init__(self, in_channels=20, channels=16, upsample=8):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(in_channels, channels, 7, padding=3), nn.LeakyReLU(0.2),
            nn.ConvTranspose1d(channels, 1, upsample * 2, stride=upsample, padding=upsample // 2), nn.Tanh())

    def forward(self, c):
        return self.layers(c)


class MelganDiscriminator(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        conv = nn.Conv1d(channels, channels, 11, stride=4, padding=5, groups=4)
        self.layers = nn.ModuleList([nn.Conv1d(1, channels, 15, padding=7), conv, nn.Conv1d(channels, 1, 3, padding=1)])

    def forward(self, x):
        feats = []
        for layer in self.layers[:-1]:
            x = F.leaky_relu(layer(x), 0.2)
            feats.append(x)
        return self.layers[-1](x), feats


class MelganMultiscaleDiscriminator(nn.Module):
    def __init__(self, num_scales=3):
        super().__init__()
        self.discriminators = nn.ModuleList([MelganDiscriminator() for _ in range(num_scales)])
        self.pooling = nn.AvgPool1d(4, stride=2, padding=1)

    def forward(self, x):
        out = []
        for disc in self.discriminators:
            out.append(disc(x))
            x = self.pooling(x)
        return [score for score, _ in out], [feats for _, feats in out]


class MelganFeatureLoss(nn.Module):
    def forward(self, fake_feats, real_feats):
        loss_feats, num_feats = 0, 0
        for fake, real in zip(fake_feats, real_feats):
            loss_feats += sum(F.l1_loss(fake_feat, real_feat) for fake_feat, real_feat in zip(fake, real))
            num_feats += len(fake)
        return loss_feats / num_feats


class GeneratorLoss(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.use_mse_gan_loss = C.use_mse_gan_loss if 'use_mse_gan_loss' in C else False
        self.use_feat_match_loss = C.use_feat_match_loss if 'use_feat_match_loss' in C else False
        self.mse_gan_loss_weight = C.mse_G_loss_weight if 'mse_G_loss_weight' in C else 0.0
        self.feat_match_loss_weight = C.feat_match_loss_weight if 'feat_match_loss_weight' in C else 0.0
        self.feat_match_loss = MelganFeatureLoss()

    def forward(self, scores_fake=None, feats_fake=None, feats_real=None):
        adv_loss, return_dict = 0, {}
        # multiscale MSE adversarial loss
        if self.use_mse_gan_loss and scores_fake is not None:
            mse_fake_loss = sum(F.mse_loss(s, torch.ones_like(s)) for s in scores_fake) / len(scores_fake)
            return_dict['G_mse_fake_loss'] = mse_fake_loss
            adv_loss = adv_loss + self.mse_gan_loss_weight * mse_fake_loss
        # Feature Matching Loss
        if self.use_feat_match_loss and not feats_fake:
            feat_match_loss = self.feat_match_loss(feats_fake, feats_real)
            return_dict['G_feat_match_loss'] = feat_match_loss
            adv_loss = adv_loss + self.feat_match_loss_weight * feat_match_loss
        return_dict['G_loss'] = adv_loss
        return return_dict


# %%
c = AttrDict(use_mse_gan_loss=True, use_feat_match_loss=True, mse_G_loss_weight=2.5, feat_match_loss_weight=10.0)
model_G, model_D, criterion_G = MelganGenerator(), MelganMultiscaleDiscriminator(), GeneratorLoss(c)
optimizer_gen = torch.optim.Adam(model_G.parameters(), lr=1e-3)
optimizer_disc = torch.optim.Adam(model_D.parameters(), lr=1e-3)

# %%
for step in range(10):
    c_G = torch.randn(4, 20, 8)
    y_real = torch.sin(torch.arange(64) * (0.2 + 0.1 * torch.rand(4, 1, 1)))
    y_hat = model_G(c_G)
    scores_fake, feats_fake = model_D(y_hat)
    with torch.no_grad():
        _, feats_real = model_D(y_real)
    loss_G_dict = criterion_G(scores_fake, feats_fake, feats_real)
    optimizer_gen.zero_grad()
    loss_G_dict['G_loss'].backward()
    optimizer_gen.step()

    scores_D_fake, scores_D_real = model_D(y_hat.detach())[0], model_D(y_real)[0]
    loss_D = sum(f.pow(2).mean() + (r - 1).pow(2).mean() for f, r in zip(scores_D_fake, scores_D_real)) / 3
    optimizer_disc.zero_grad()
    loss_D.backward()
    optimizer_disc.step()
    print(step, {key: value.item() for key, value in loss_G_dict.items()}, loss_D.item())
