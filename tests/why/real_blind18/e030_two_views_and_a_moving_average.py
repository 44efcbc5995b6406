# https://github.com/PatrickHua/SimSiam/issues/26
import copy
import math

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


def D(p, z):
    return -F.cosine_similarity(p, z.detach(), dim=1).mean()


class MLP(nn.Sequential):
    def __init__(self, in_dim, hidden=128, out_dim=32):
        super().__init__(
            nn.Linear(in_dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, out_dim))


class Backbone(nn.Module):
    output_dim = 64

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, self.output_dim, 3, stride=2, padding=1)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.conv2(x)).mean((2, 3))


class BYOL(nn.Module):
    base_ema = 4e-3

    def __init__(self, backbone):
        super().__init__()
        self.online_encoder = nn.Sequential(backbone, MLP(backbone.output_dim))
        self.target_encoder = copy.deepcopy(self.online_encoder)
        self.online_predictor = MLP(32)

    def target_ema(self, step, max_steps):
        """From 1 - base_ema at the first step to 1 at the last, along a cosine."""
        return 1 - self.base_ema * 0.5 * (1 + math.cos(math.pi * step / max_steps))

    @torch.no_grad()
    def update_moving_average(self, global_step, max_steps):
        tau = self.target_ema(global_step, max_steps)
        for target, online in zip(self.target_encoder.parameters(), self.online_encoder.parameters()):
            target.mul_(tau).add_(online, alpha=1 - tau)

    def predict(self, x):
        return self.online_predictor(self.online_encoder(x))

    def forward(self, x1, x2):
        p1, p2 = self.predict(x1), self.predict(x2)
        with torch.no_grad():
            z1, z2 = self.target_encoder(x1), self.target_encoder(x2)
        return 0.5 * (D(p1, z2) + D(p2, z1))


class TwoViews(torch.utils.data.Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        return image + 0.1 * torch.randn_like(image), image.flip(-1)


# %%
num_epochs = 3
train_loader = torch.utils.data.DataLoader(TwoViews(torch.rand(64, 3, 16, 16)), batch_size=16, shuffle=True)

model = BYOL(Backbone())
start = [p.detach().clone() for p in model.target_encoder.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

for epoch in range(num_epochs):
    model.train()
    losses = []
    for idx, (images1, images2) in enumerate(train_loader):
        model.zero_grad()
        loss = model(images1, images2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print({"epoch": epoch, "loss_avg": sum(losses) / len(losses)})
