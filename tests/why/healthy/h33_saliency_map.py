# The gradient of a class score for an image; the model stays as it is.
import torch
from torch import nn

model = nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).eval()
for p in model.parameters():
    p.requires_grad_(False)
image = torch.rand(1, 1, 4, 4, requires_grad=True)
score = model(image)[0, 1]
score.backward()
saliency = image.grad.abs().amax(1)
assert bool(saliency.any())
