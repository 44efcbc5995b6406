# https://github.com/Lornatang/ESRGAN-PyTorch/issues/39
import torch
from torch import nn, optim

torch.manual_seed(0)


def build_model():
    d_model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 8 * 8, 1))
    g_model = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.LeakyReLU(0.2), nn.Upsample(scale_factor=2), nn.Conv2d(8, 3, 3, 1, 1))
    return d_model, g_model


def define_optimizer(d_model, g_model):
    d_optimizer = optim.Adam(d_model.parameters(), 1e-3)
    g_optimizer = optim.Adam(g_model.parameters(), 1e-3)
    return d_optimizer, g_optimizer


def train(d_model, g_model, batches, pixel_criterion, adversarial_criterion, d_optimizer, g_optimizer):
    d_model.train()
    g_model.train()
    for lr, gt in batches:
        real_label = torch.ones(lr.size(0), 1)
        fake_label = torch.zeros(lr.size(0), 1)

        for d_parameters in d_model.parameters():
            d_parameters.requires_grad = False
        g_model.zero_grad(set_to_none=True)
        sr = g_model(lr)
        pixel_loss = pixel_criterion(sr, gt)
        d_loss_for_g = adversarial_criterion(d_model(sr), real_label)
        g_loss = pixel_loss + 0.005 * d_loss_for_g
        g_loss.backward()
        g_optimizer.step()

        for d_parameters in d_model.parameters():
            d_parameters.requires_grad = True
        d_model.zero_grad(set_to_none=True)
        d_loss_gt = adversarial_criterion(d_model(gt), real_label)
        d_loss_sr = adversarial_criterion(d_model(sr.detach()), fake_label)
        d_loss = d_loss_gt + d_loss_sr
        d_loss.backward()
        d_optimizer.step()


# %%
d_model, g_model = build_model()
d_optimizer, g_optimizer = define_optimizer(d_model, g_model)
batches = [(torch.rand(4, 3, 8, 8), torch.rand(4, 3, 16, 16)) for _ in range(3)]
before = d_model[0].weight.detach().clone()

# %%
train(d_model, g_model, batches, nn.L1Loss(), nn.BCEWithLogitsLoss(), g_optimizer, g_optimizer)
print((d_model[0].weight - before).abs().max())
