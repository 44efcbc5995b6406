# https://github.com/PatrickHua/SimSiam/issues/22
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def D(p, z, version='simplified'):  # negative cosine similarity
    if version == 'original':
        z = z.detach()  # stop gradient
        p = F.normalize(p, dim=1)  # l2-normalize
        z = F.normalize(z, dim=1)  # l2-normalize
        return -(p*z).sum(dim=1).mean()
    return - F.cosine_similarity(p, z.detach(), dim=-1).mean()


class SimSiam(nn.Module):
    def __init__(self, in_dim=20, dim=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, 32), nn.BatchNorm1d(32), nn.ReLU(inplace=True),
                                     nn.Linear(32, dim), nn.BatchNorm1d(dim))
        self.predictor = nn.Sequential(nn.Linear(dim, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True),
                                       nn.Linear(8, dim))

    def forward(self, x1, x2):
        f, h = self.encoder, self.predictor
        z1, z2 = f(x1), f(x2)
        p1, p2 = h(z1), h(z2)
        return D(p1, z2) / 2 + D(p2, z1) / 2


# %%
model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
images = torch.randn(64, 20)

# %%
losses = []
for epoch in range(20):
    x1, x2 = images + 0.1 * torch.randn_like(images), images + 0.1 * torch.randn_like(images)
    loss = model(x1, x2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0] - 0.2
assert model.encoder[0].weight.grad.abs().sum() > 0
