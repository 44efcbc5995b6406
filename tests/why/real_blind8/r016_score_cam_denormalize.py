# https://github.com/haofanwang/Score-CAM/issues/28
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))


def apply_transforms(image):
    means, stds = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    tensor = (image - torch.tensor(means).view(3, 1, 1)) / torch.tensor(stds).view(3, 1, 1)
    tensor = tensor.unsqueeze(0)
    tensor.requires_grad = True
    return tensor


def denormalize(tensor):
    means = [0.485, 0.456, 0.406]
    stds = [0.229, 0.224, 0.225]

    denormalized = tensor.clone()

    for channel, mean, std in zip(denormalized[0], means, stds):
        channel.mul_(std).add_(mean)

    return denormalized


def format_for_plotting(tensor):
    formatted = tensor.clone()
    return formatted.squeeze(0).permute(1, 2, 0).detach()


# %%
input_ = apply_transforms(torch.rand(3, 16, 16))
logit = model(input_)
scorecam_map = torch.rand(16, 16)

# %%
input_ = format_for_plotting(denormalize(input_))
