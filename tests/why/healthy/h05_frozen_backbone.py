# A frozen backbone in evaluation mode, and a new head.
import torch
import torch.nn.functional as F
from torch import nn

backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
backbone.requires_grad_(False).eval()
head = nn.Linear(8, 5)
optimizer = torch.optim.Adam(head.parameters())
images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))
loss = F.cross_entropy(head(backbone(images)), labels)
loss.backward()
optimizer.step()
assert backbone[0].weight.grad is None
