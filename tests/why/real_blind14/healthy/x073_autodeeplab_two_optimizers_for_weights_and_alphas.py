# https://github.com/MenghaoGuo/AutoDeeplab/issues/51
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
OPS = {
    'none': lambda C: Zero(),
    'skip_connect': lambda C: nn.Identity(),
    'conv_3x3': lambda C: nn.Sequential(nn.ReLU(), nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C, affine=False)),
    'avg_pool_3x3': lambda C: nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False),
}


class Zero(nn.Module):
    def forward(self, x):
        return x.mul(0.0)


class MixedOp(nn.Module):
    def __init__(self, C):
        super().__init__()
        self._ops = nn.ModuleList(make(C) for make in OPS.values())

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self._ops))


class AutoNet(nn.Module):
    def __init__(self, C=8, cells=2, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, C, 3, padding=1)
        self.cells = nn.ModuleList(MixedOp(C) for _ in range(cells))
        self.head = nn.Conv2d(C, classes, 1)
        # no nn.Parameter: they are not among the weights
        self.alphas = (1e-3 * torch.randn(cells, len(OPS))).requires_grad_()

    def arch_parameters(self):
        return [self.alphas]

    def weight_parameters(self):
        return list(self.parameters())

    def forward(self, x):
        x = self.stem(x)
        for cell, alpha in zip(self.cells, F.softmax(self.alphas, dim=-1)):
            x = cell(x, alpha)
        return self.head(x)


class Architect:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.arch_parameters(), lr=0.03, betas=(0.5, 0.999), weight_decay=1e-3)

    def step(self, image, target):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(image), target)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def draw_batch(n=8, size=10):
    """Bright and dark squares on a ground with noise; what is dark or bright is to be told for each pixel."""
    target = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        y, x, k = torch.randint(0, size - 4, (3,)).tolist()
        target[i, y:y + 5, x:x + 5] = 1 + k % 2
    image = torch.tensor([0.0, 1.0, -1.0])[target] + 0.8 * torch.randn(n, size, size)
    return image.unsqueeze(1), target


# %%
model = AutoNet()
optimizer = torch.optim.SGD(model.weight_parameters(), lr=0.1, momentum=0.9, weight_decay=3e-4)
architect = Architect(model)
alphas_before = model.alphas.detach().clone()
train_losses, search_losses = [], []

# %%
for iteration in range(120):
    image, target = draw_batch()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(image), target)
    loss.backward()
    optimizer.step()
    train_losses.append(loss.item())
    if iteration >= 40:
        search_losses.append(architect.step(*draw_batch()))
    if iteration == 39:
        untouched = torch.equal(model.alphas.detach(), alphas_before)

# %%
weights_before = [p.detach().clone() for p in model.weight_parameters()]
architect.step(*draw_batch())
same = all(torch.equal(a, b) for a, b in zip(weights_before, model.weight_parameters()))
print(train_losses[0], train_losses[-1], F.softmax(model.alphas.detach(), -1))
assert untouched and same and not torch.equal(model.alphas.detach(), alphas_before)
assert sum(train_losses[-10:]) < 0.5 * sum(train_losses[:10])
