# torchvision's ResNet-18, its last layer new, all of it trained
import torch
from torch import nn
from torch.nn import functional as F
from torchvision.models import resnet18

torch.manual_seed(0)
model = resnet18(weights=None)
model.fc = nn.Linear(model.fc.in_features, 10)
model.train()
opt = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.01)
images, labels = torch.randn(4, 3, 64, 64), torch.randint(10, (4,))
# %% the recorded cell
opt.zero_grad()
logits = model(images)
loss = F.cross_entropy(logits, labels)
loss.backward()
opt.step()
