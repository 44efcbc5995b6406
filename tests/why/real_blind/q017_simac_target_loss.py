# https://github.com/somuchtome/SimAC/issues/3
import torch
import torch.nn.functional as F
from torch import nn

unet = nn.Linear(6, 6)
features = nn.Linear(6, 3)
noise, target_features = torch.randn(4, 6), torch.randn(4, 3)
perturbed_images = torch.randn(4, 6, requires_grad=True)

# %%
model_pred = unet(perturbed_images)
loss = F.mse_loss(model_pred, noise)
grad_of_loss, = torch.autograd.grad(loss, perturbed_images, retain_graph=True)

# %%
target_loss = F.mse_loss(features(model_pred), target_features)
loss = loss + target_loss.detach().item()

# %%
loss.backward()
grad_of_both = perturbed_images.grad
print((grad_of_both - grad_of_loss).abs().max())
