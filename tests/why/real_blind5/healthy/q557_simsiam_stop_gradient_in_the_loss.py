# https://github.com/PatrickHua/SimSiam/issues/39
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def D(p, z, version='simplified'):  # negative cosine similarity
    if version == 'original':
        z = z.detach()
        p = F.normalize(p, dim=1)
        z = F.normalize(z, dim=1)
        return -(p * z).sum(dim=1).mean()
    elif version == 'simplified':
        return - F.cosine_similarity(p, z.detach(), dim=-1).mean()
    else:
        raise Exception


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 16), nn.BatchNorm1d(16))
        self.encoder = nn.Sequential(self.backbone, self.projector)
        self.predictor = nn.Sequential(nn.Linear(16, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 16))

    def forward(self, x1, x2):
        f, h = self.encoder, self.predictor
        z1, z2 = f(x1), f(x2)
        p1, p2 = h(z1), h(z2)
        L = D(p1, z2) / 2 + D(p2, z1) / 2
        return {'loss': L}


# %%
model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.0005)

# %%
model.train()
for idx in range(3):
    images = torch.rand(8, 3, 8, 8)
    images1, images2 = images + 0.1 * torch.randn_like(images), images + 0.1 * torch.randn_like(images)
    model.zero_grad()
    data_dict = model.forward(images1, images2)
    L = data_dict['loss'].mean()
    L.backward()
    optimizer.step()
    print(idx, L.item())
