# https://github.com/ubc-vision/sonic/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
NODES = {}


def node(function):
    NODES[function.__name__] = function
    return function


class Sampler(nn.Module):
    """Turns noise into a picture in one step."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.SiLU(), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, noise):
        return noise + self.layers(noise)


class InpaintPipeline:
    def __init__(self, steps=20, lr=0.1):
        self.sampler, self.steps, self.lr = Sampler().eval(), steps, lr
        for p in self.sampler.parameters():
            p.requires_grad_(False)

    def optimize_noise(self, image, mask, epsilon):
        epsilon_optim_target = epsilon.detach().clone().requires_grad_(True)
        optimizer = torch.optim.Adam([epsilon_optim_target], lr=self.lr)
        for step in range(self.steps):
            prediction = self.sampler(epsilon_optim_target)
            loss = F.mse_loss(prediction * mask, image * mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("loss of the known part", loss.item())
        return epsilon_optim_target.detach()


@node
def load_image(image):
    torch.set_grad_enabled(False)
    return image * 0.5 + 0.5


@node
def inpaint(image, mask, epsilon):
    epsilon = pipe.optimize_noise(image, mask, epsilon)
    return pipe.sampler(epsilon)


pipe = InpaintPipeline()
mask = torch.ones(1, 1, 16, 16)
mask[..., 5:11, 5:11] = 0
epsilon = torch.randn(1, 1, 16, 16)

# %%
image = NODES["load_image"](torch.rand(1, 1, 16, 16) * 2 - 1)
result = NODES["inpaint"](image, mask, epsilon)
print(result.shape)
