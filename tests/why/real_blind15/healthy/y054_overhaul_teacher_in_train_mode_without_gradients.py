# https://github.com/clovaai/overhaul-distillation/issues/34
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvNet(nn.Module):
    def __init__(self, width, num_classes=4):
        super().__init__()
        self.width = width
        self.conv1, self.bn1 = nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, stride=2), nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, num_classes)

    def extract_feature(self, x):
        feat1 = self.bn1(self.conv1(x))
        feat2 = self.bn2(self.conv2(F.relu(feat1)))
        out = self.fc(F.relu(feat2).mean((2, 3)))
        return [feat1, feat2], out

    def forward(self, x):
        return self.extract_feature(x)[1]


def distillation_loss(source, target, margin):
    target = torch.max(target, margin)
    loss = F.mse_loss(source, target, reduction="none")
    loss = loss * ((source > target) | (target > 0)).float()
    return loss.sum()


class Distiller(nn.Module):
    def __init__(self, t_net, s_net):
        super().__init__()
        self.t_net, self.s_net = t_net, s_net
        self.Connectors = nn.ModuleList(
            nn.Sequential(nn.Conv2d(s_net.width, t_net.width, 1, bias=False), nn.BatchNorm2d(t_net.width))
            for _ in range(2)
        )
        self.margins = [self.get_margin(bn) for bn in (t_net.bn1, t_net.bn2)]

    @staticmethod
    def get_margin(bn):
        # the mean of what a channel gives where it is below zero
        normal = torch.distributions.Normal(bn.bias.detach(), bn.weight.detach().abs())
        s = normal.sample((2000,)).clamp(max=0)
        return (s.sum(0) / (s < 0).sum(0).clamp(min=1)).view(1, -1, 1, 1)

    def forward(self, x):
        with torch.no_grad():
            t_feats, t_out = self.t_net.extract_feature(x)
        s_feats, s_out = self.s_net.extract_feature(x)
        loss_distill = 0
        for i in range(2):
            s_feat = self.Connectors[i](s_feats[i])
            loss_distill += distillation_loss(s_feat, t_feats[i], self.margins[i]) / 2 ** (1 - i)
        return s_out, loss_distill


def batch(n=64):
    y = torch.randint(0, 4, (n,))
    x = 0.5 * torch.randn(n, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        at = int(torch.randint(1, 7, (1,)))
        if k < 2:
            x[i, 0, at, :] += 1 - 2 * k
        else:
            x[i, 0, :, at] += 1 - 2 * (k - 2)
    return x, y


# %%
t_net = ConvNet(24)
optimizer = torch.optim.Adam(t_net.parameters(), lr=5e-3)
for _ in range(120):
    inputs, targets = batch()
    optimizer.zero_grad()
    F.cross_entropy(t_net(inputs), targets).backward()
    optimizer.step()
optimizer.zero_grad()

# %%
d_net = Distiller(t_net, ConvNet(8))
optimizer = torch.optim.SGD(
    [*d_net.s_net.parameters(), *d_net.Connectors.parameters()], lr=0.05, momentum=0.9, weight_decay=5e-4
)
weights_before = [p.detach().clone() for p in t_net.parameters()]
mean_before = t_net.bn1.running_mean.clone()

# %%
d_net.train()  # the teacher too: its norms take the numbers of the batch
for i in range(200):
    inputs, targets = batch()
    outputs, loss_distill = d_net(inputs)
    loss_CE = F.cross_entropy(outputs, targets)
    loss = loss_CE + loss_distill.sum() / len(inputs) / 1000
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
d_net.eval()
with torch.no_grad():
    inputs, targets = batch(512)
    accuracy = (d_net.s_net(inputs).argmax(1) == targets).float().mean().item()
print(accuracy)
assert all(torch.equal(a, b) for a, b in zip(weights_before, t_net.parameters()))
assert all(p.grad is None for p in t_net.parameters())
assert not torch.equal(mean_before, t_net.bn1.running_mean)
assert accuracy > 0.9
