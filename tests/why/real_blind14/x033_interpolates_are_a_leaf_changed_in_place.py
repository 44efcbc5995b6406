# https://github.com/daa233/generative-inpainting-pytorch/issues/17
import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(0)


class LocalDis(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.activation = nn.LeakyReLU(0.2, inplace=True)
        self.conv1 = nn.Conv2d(3, dim, 3, padding=1)
        self.linear = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.activation(x)
        x = torch.tanh(self.conv1(x))
        return self.linear(x.mean(dim=(2, 3)))


class Trainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.localD = LocalDis()
        self.optimizer_d = torch.optim.Adam(self.localD.parameters(), lr=1e-4, betas=(0.5, 0.9))

    def forward(self, ground_truth, x_inpaint):
        losses = {}
        real_pred, fake_pred = self.dis_forward(self.localD, ground_truth, x_inpaint)
        losses["wgan_d"] = torch.mean(fake_pred - real_pred)
        losses["wgan_gp"] = self.calc_gradient_penalty(self.localD, ground_truth, x_inpaint.detach())
        return losses

    def dis_forward(self, netD, ground_truth, x_inpaint):
        batch_data = torch.cat([ground_truth, x_inpaint], dim=0)
        return torch.split(netD(batch_data), ground_truth.size(0), dim=0)

    # Calculate gradient penalty
    def calc_gradient_penalty(self, netD, real_data, fake_data):
        alpha = torch.rand(real_data.size(0), 1, 1, 1).expand_as(real_data)
        interpolates = alpha * real_data + ((1 - alpha) * fake_data)
        interpolates = autograd.Variable(interpolates, requires_grad=True)
        disc_interpolates = netD(interpolates)
        gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                                  grad_outputs=torch.ones(disc_interpolates.size()),
                                  create_graph=True, retain_graph=True, only_inputs=True)[0]
        gradients = gradients.view(gradients.size(0), -1)
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


# %%
trainer = Trainer()
for iteration in range(3):
    losses = trainer(torch.randn(4, 3, 8, 8), torch.randn(4, 3, 8, 8))
    trainer.optimizer_d.zero_grad()
    (losses["wgan_d"] + 10 * losses["wgan_gp"]).backward()
    trainer.optimizer_d.step()
