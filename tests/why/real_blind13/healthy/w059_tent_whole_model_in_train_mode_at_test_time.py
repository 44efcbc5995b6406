# https://github.com/DequanWang/tent/issues/17
from copy import deepcopy
import torch
import torch.nn as nn

torch.manual_seed(0)


class SmallWRN(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 16, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return self.fc(torch.relu(self.bn2(self.conv2(x))).mean((2, 3)))


def softmax_entropy(x):
    return -(x.softmax(1) * x.log_softmax(1)).sum(1)


def configure_model(model):
    model.train().requires_grad_(False)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.requires_grad_(True)
            m.track_running_stats = False  # the statistics of each batch instead
            m.running_mean = m.running_var = None
    return model


def collect_params(model):
    return [p for m in model.modules() if isinstance(m, nn.BatchNorm2d) for p in (m.weight, m.bias)]


class Tent(nn.Module):
    def __init__(self, model, optimizer, steps=1):
        super().__init__()
        self.model, self.optimizer, self.steps = model, optimizer, steps

    @torch.enable_grad()
    def forward(self, x):
        for _ in range(self.steps):
            outputs = self.model(x)
            loss = softmax_entropy(outputs).mean(0)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return outputs


# %%
tiles = torch.randn(5, 3, 4, 4).repeat(1, 1, 2, 2)


def draw(n, corrupted=False):
    y = torch.randint(0, 5, (n,))
    x = tiles[y] + 0.4 * torch.randn(n, 3, 8, 8)
    return (0.4 * x + torch.tensor([1.5, -1., .5]).view(1, 3, 1, 1) if corrupted else x), y


source = SmallWRN()
optimizer = torch.optim.Adam(source.parameters(), lr=3e-3)
for _ in range(100):
    x, y = draw(64)
    optimizer.zero_grad()
    nn.functional.cross_entropy(source(x), y).backward()
    optimizer.step()
source.eval()

# %%
with torch.no_grad():
    x, y = draw(400, corrupted=True)
    acc_source = (source(x).argmax(1) == y).float().mean().item()
base = configure_model(deepcopy(source))
tented = Tent(base, torch.optim.Adam(collect_params(base), lr=1e-3))
hits, seen = 0, 0
with torch.no_grad():
    for _ in range(20):
        x, y = draw(64, corrupted=True)
        hits += (tented(x).argmax(1) == y).sum().item()
        seen += len(y)
print(acc_source, hits / seen)
assert hits / seen > acc_source + 0.1
assert torch.equal(base.conv1.weight, source.conv1.weight) and torch.equal(base.fc.weight, source.fc.weight)
assert not torch.equal(base.bn1.weight, source.bn1.weight)
