# https://github.com/clovaai/overhaul-distillation/issues/37
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def distillation_loss(source, target, margin):
    target = torch.max(target, margin)
    loss = F.mse_loss(source, target, reduction="none")
    loss = loss * ((source > target) | (target > 0)).float()
    return loss.sum()


def build_feature_connector(t_channel, s_channel):
    return nn.Sequential(nn.Conv2d(s_channel, t_channel, kernel_size=1, bias=False), nn.BatchNorm2d(t_channel))


def get_margin_from_BN(bn):
    margin = []
    for s, m in zip(bn.weight.data, bn.bias.data):
        s, m = abs(s), m
        normal = torch.distributions.Normal(0.0, 1.0)
        if normal.cdf(-m / s) > 0.001:
            margin.append(-s * torch.exp(-((m / s) ** 2) / 2) / (2 * torch.pi) ** 0.5 / normal.cdf(-m / s) + m)
        else:
            margin.append(-3 * s)
    return torch.stack([torch.as_tensor(m) for m in margin])


class ConvNet(nn.Module):
    def __init__(self, width, classes=4):
        super().__init__()
        self.width = width
        self.conv1, self.bn1 = nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width)
        self.fc = nn.Linear(2 * width, classes)

    def get_channel_num(self):
        return [self.width, 2 * self.width]

    def extract_feature(self, x, preReLU=False):
        f1 = self.bn1(self.conv1(x))
        f2 = self.bn2(self.conv2(F.max_pool2d(F.relu(f1), 2)))
        out = self.fc(F.relu(f2).mean((2, 3)))
        return ([f1, f2] if preReLU else [F.relu(f1), F.relu(f2)]), out

    def forward(self, x):
        return self.extract_feature(x)[1]


class Distiller(nn.Module):
    def __init__(self, t_net, s_net):
        super().__init__()
        t_channels, s_channels = t_net.get_channel_num(), s_net.get_channel_num()
        self.Connectors = nn.ModuleList([build_feature_connector(t, s) for t, s in zip(t_channels, s_channels)])
        for i, bn in enumerate((t_net.bn1, t_net.bn2)):
            self.register_buffer('margin%d' % (i + 1), get_margin_from_BN(bn).view(1, -1, 1, 1).detach())
        self.t_net, self.s_net = t_net, s_net

    def forward(self, x):
        t_feats, t_out = self.t_net.extract_feature(x, preReLU=True)
        s_feats, s_out = self.s_net.extract_feature(x, preReLU=True)
        loss_distill = 0
        for i in range(len(t_feats)):
            s_feats[i] = self.Connectors[i](s_feats[i])
            loss_distill += distillation_loss(s_feats[i], t_feats[i].detach(), getattr(self, 'margin%d' % (i + 1))) / 2 ** (len(t_feats) - i - 1)
        return s_out, loss_distill


def stripes(n):
    targets = torch.randint(0, 4, (n,))
    wave = torch.sin(torch.arange(10.0) * 2 + torch.rand(n, 1) * 6)
    rows, cols = wave.unsqueeze(2).expand(n, 10, 10), wave.unsqueeze(1).expand(n, 10, 10)
    pictures = torch.stack([rows, cols, rows * cols, torch.randn(n, 10, 10)], 1)[torch.arange(n), targets]
    return pictures.unsqueeze(1) + 0.5 * torch.randn(n, 1, 10, 10), targets


# %%
t_net = ConvNet(16)
optimizer = torch.optim.Adam(t_net.parameters(), lr=5e-3)
for _ in range(60):
    inputs, targets = stripes(64)
    optimizer.zero_grad()
    F.cross_entropy(t_net(inputs), targets).backward()
    optimizer.step()
optimizer.zero_grad()

# %%
d_net = Distiller(t_net, ConvNet(6))
teacher_before = [p.detach().clone() for p in t_net.parameters()]
optimizer = torch.optim.SGD(list(d_net.s_net.parameters()) + list(d_net.Connectors.parameters()), lr=0.05, momentum=0.9, weight_decay=5e-4)
d_net.train()
d_net.s_net.train()
d_net.t_net.train()
distances = []
for batch_idx in range(100):
    inputs, targets = stripes(64)
    outputs, loss_distill = d_net(inputs)
    loss_CE = F.cross_entropy(outputs, targets)
    loss = loss_CE + loss_distill.sum() / len(inputs) / 10000
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    distances.append(loss_distill.item())

# %%
d_net.s_net.eval()
with torch.no_grad():
    inputs, targets = stripes(400)
    accuracy = (d_net.s_net(inputs).argmax(1) == targets).float().mean().item()
teacher_moved = any(not torch.equal(a, b) for a, b in zip(teacher_before, t_net.parameters()))
print(distances[0], distances[-1], accuracy, teacher_moved)
assert not teacher_moved and all(p.grad is None for p in t_net.parameters())
assert all(p.grad is not None for p in d_net.s_net.parameters())
assert accuracy > 0.85
