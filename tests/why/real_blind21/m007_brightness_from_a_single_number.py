# https://github.com/kornia/kornia/issues/825
import torch
import torch.nn as nn

torch.manual_seed(0)


def _check_and_bound(factor, name, center=0., bounds=(0, float('inf'))):
    r"""Check inputs and compute the corresponding factor bounds"""
    if isinstance(factor, (int, float)):
        if factor < 0:
            raise ValueError(f"If {name} is a single number number, it must be non negative. Got {factor}")
        factor_bound = torch.tensor([center - factor, center + factor])
        factor_bound = torch.clamp(factor_bound, bounds[0], bounds[1])

    elif isinstance(factor, torch.Tensor) and factor.dim() == 0:
        if factor < 0:
            raise ValueError(f"If {name} is a single number number, it must be non negative. Got {factor}")
        factor_bound = torch.tensor([torch.tensor(center) - factor, torch.tensor(center) + factor])
        factor_bound = torch.clamp(factor_bound, bounds[0], bounds[1])

    elif len(factor) == 2:
        if not bounds[0] <= factor[0] <= factor[1] <= bounds[1]:
            raise ValueError(f"{name}[0] should be smaller than {name}[1] got {factor}")
        factor_bound = factor
    return factor_bound


def _adapted_uniform(shape, low, high, same_on_batch):
    u = torch.rand(1).expand(shape) if same_on_batch else torch.rand(shape)
    return low + (high - low) * u


class ColorJitter(nn.Module):
    def __init__(self, brightness=0., contrast=0., same_on_batch=False, p=1.):
        super(ColorJitter, self).__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.same_on_batch = same_on_batch
        self.p = p

    def generate_parameters(self, batch_size):
        brightness = _check_and_bound(self.brightness, 'brightness', center=1., bounds=(0, 2))
        contrast = _check_and_bound(self.contrast, 'contrast', center=1.)
        return dict(
            brightness_factor=_adapted_uniform((batch_size,), brightness[0], brightness[1], self.same_on_batch),
            contrast_factor=_adapted_uniform((batch_size,), contrast[0], contrast[1], self.same_on_batch))

    def forward(self, input):
        params = self.generate_parameters(len(input))
        x = input + (params['brightness_factor'] - 1).view(-1, 1, 1, 1)
        x = x * params['contrast_factor'].view(-1, 1, 1, 1)
        return torch.clamp(x, 0., 1.)


# %%
train_images = torch.rand(4, 3, 16, 16, requires_grad=True)
m = nn.Parameter(torch.tensor(0.7))
print('m', m.cpu().data.numpy())
before = m.item()

mse = nn.MSELoss()
a = ColorJitter(brightness=m, contrast=0., same_on_batch=True, p=1.)
optimizer = torch.optim.SGD(a.parameters(), 0.1, momentum=0.9)

# %%
for i in range(5):
    print('step:', i)
    output = a(train_images)
    y = mse(output, train_images)
    optimizer.zero_grad()
    y.backward()
    optimizer.step()
    print('m', m.cpu().data.numpy())
