# https://github.com/quangvnai/grit/issues/20
import torch
import torch.nn as nn

torch.manual_seed(0)


class Config:
    freeze_backbone = True
    freeze_detector = False


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.detector = nn.Linear(4, 4)
        self.cap_generator = nn.Linear(4, 12)

    def forward(self, x):
        return self.cap_generator(torch.relu(self.detector(self.backbone(x))))


# %%
optimizer_config = Config()
model = Transformer()

# %%
if getattr(optimizer_config, 'freeze_backbone', False):
    for p, n in model.named_parameters():
        if 'backbone' in n:
            p.requires_grad = False

if getattr(optimizer_config, 'freeze_detector', False):
    for p, n in model.named_parameters():
        if 'detector' in n:
            p.requires_grad = False

loss = nn.functional.cross_entropy(model(torch.rand(4, 3, 8, 8)), torch.randint(0, 12, (4,)))
loss.backward()
