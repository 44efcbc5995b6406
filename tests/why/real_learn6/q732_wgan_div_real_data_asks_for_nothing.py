# https://github.com/Lornatang/WassersteinGAN_DIV-PyTorch/issues/1
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))

    def forward(self, x):
        return self.main(x)


def calculate_gradient_penalty(real_data, fake_data, real_outputs, fake_outputs, k=2, p=6):
    real_grad_outputs = torch.full((real_data.size(0), 1), 1.0)
    real_gradient = torch.autograd.grad(
        outputs=real_outputs,
        inputs=Variable(real_data, requires_grad=True),
        grad_outputs=real_grad_outputs,
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    real_gradient_norm = real_gradient.view(real_gradient.size(0), -1).pow(2).sum(1) ** (p / 2)
    return torch.mean(real_gradient_norm) * k / 2


# %%
discriminator = Discriminator()
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
real_images, fake_images = torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8)

# %%
real_outputs = discriminator(real_images)
fake_outputs = discriminator(fake_images)
errD_real, errD_fake = torch.mean(real_outputs), -torch.mean(fake_outputs)
div_gp = calculate_gradient_penalty(real_images, fake_images, real_outputs, fake_outputs)
errD = errD_real + errD_fake + div_gp
errD.backward()
optimizer_d.step()
