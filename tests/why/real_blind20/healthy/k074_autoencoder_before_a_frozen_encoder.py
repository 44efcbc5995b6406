# https://discuss.pytorch.org/t/grad-through-frozen-weights/84672
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class ResNetEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.block = ResBlock(16)

    def forward(self, x):
        return F.adaptive_avg_pool2d(self.block(F.relu(self.stem(x))), 2).flatten(1)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(100, 32), nn.ReLU())
        self.decoder = nn.Linear(32, 100)

    def forward(self, x):
        return self.decoder(self.encoder(x)).view(-1, 1, 10, 10)


class CatsAndDogs(nn.Module):
    def __init__(self, resnet):
        super().__init__()
        self.autoencoder = AutoEncoder()
        self.resnet = resnet
        for param in self.resnet.parameters():
            param.requires_grad = False
        self.top = nn.Linear(64, 2)

    def train(self, mode=True):
        super().train(mode)
        self.resnet.eval()
        return self

    def forward(self, x):
        recreated = self.autoencoder(x)
        features = self.resnet(recreated)
        return recreated, self.top(features)


bases = torch.rand(6, 1, 10, 10)


def images(n):
    """Six sorts of pictures; the first three are cats."""
    sort = torch.randint(0, 6, (n,))
    return bases[sort] + 0.2 * torch.randn(n, 1, 10, 10), sort


# %%
# a resnet that has learned to tell the sorts apart
resnet = ResNetEncoder()
pretext = nn.Linear(64, 6)
opt = torch.optim.Adam(list(resnet.parameters()) + list(pretext.parameters()), lr=3e-3)
for _ in range(120):
    x, sort = images(48)
    opt.zero_grad()
    F.cross_entropy(pretext(resnet(x)), sort).backward()
    opt.step()
opt.zero_grad()

# %%
model = CatsAndDogs(resnet)
model.train()
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=3e-3)
frozen = {n: t.clone() for n, t in model.resnet.state_dict().items()}
losses = []
for step in range(150):
    x, sort = images(48)
    y = (sort >= 3).long()
    optimizer.zero_grad()
    recreated, logits = model(x)
    loss = F.mse_loss(recreated, x) + F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
model.eval()
x, sort = images(300)
y = (sort >= 3).long()
recreated, logits = model(x)
accuracy = (logits.argmax(1) == y).float().mean().item()
through, = torch.autograd.grad(F.cross_entropy(logits, y), model.autoencoder.encoder[1].weight)
unchanged = all(torch.equal(frozen[n], t) for n, t in model.resnet.state_dict().items())
print(losses[0], losses[-1], accuracy, through.norm().item(), unchanged)
assert unchanged and through.norm() > 0 and accuracy > 0.9 and losses[-1] < 0.5 * losses[0]
assert all(p.grad is None for p in model.resnet.parameters()) and model.top.weight.grad is not None
