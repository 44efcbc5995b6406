# https://github.com/OpenDriveLab/PPGeo/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = nn.Conv2d(inplanes, planes, 1, stride=stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self, num_classes=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = BasicBlock(8, 8)
        self.layer2 = BasicBlock(8, 16, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class VisualEncoder(nn.Module):
    """Takes one frame and tells by how much the next one will have moved."""

    def __init__(self, checkpoint):
        super().__init__()
        self.resnet = ResNet()
        self.resnet.load_state_dict(checkpoint)
        self.motion_decoder = nn.Sequential(nn.Flatten(), nn.Linear(16 * 25, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        r = self.resnet
        x = F.relu(r.bn1(r.conv1(x)))
        feature = r.layer2(r.layer1(x))
        return 0.5 * torch.tanh(self.motion_decoder(feature))


def warp(frame, motion):
    theta = torch.eye(2, 3).repeat(len(frame), 1, 1)
    theta[:, :, 2] = motion
    return F.grid_sample(frame, F.affine_grid(theta, frame.shape, align_corners=False), padding_mode='border', align_corners=False)


def frames(n):
    """A soft disc; the farther it is from the middle, the more it will have moved back."""
    yy, xx = torch.meshgrid(torch.linspace(-0.9, 0.9, 10), torch.linspace(-0.9, 0.9, 10), indexing='ij')
    at = torch.rand(n, 2, 1, 1) - 0.5
    disc = lambda c: torch.exp(-6 * ((yy - c[:, 0:1]) ** 2 + (xx - c[:, 1:2]) ** 2))
    noise = lambda: 0.02 * torch.randn(n, 1, 10, 10)
    return disc(at) + noise(), disc(0.4 * at) + noise(), at


# %%
pretrained = ResNet()
optimizer = torch.optim.Adam(pretrained.parameters(), lr=3e-3)
for _ in range(30):
    frame, _, at = frames(64)
    labels = (at[:, 0, 0, 0] > 0).long() + 2 * (at[:, 1, 0, 0] > 0).long()
    optimizer.zero_grad()
    F.cross_entropy(pretrained(frame), labels).backward()
    optimizer.step()
checkpoint = {k: v.clone() for k, v in pretrained.state_dict().items()}

# %%
model = VisualEncoder(checkpoint)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=120, gamma=0.1)
losses = []
model.train()
for step in range(160):
    frame, following, _ = frames(64)
    motion = model(frame)
    photometric = (warp(frame, motion) - following).abs().mean()
    optimizer.zero_grad()
    photometric.backward()
    optimizer.step()
    scheduler.step()
    losses.append(photometric.item())

# %%
state = model.resnet.state_dict()
same = [k for k in checkpoint if torch.equal(checkpoint[k], state[k])]
print(losses[0], losses[-1], same)
assert same == ['fc.weight', 'fc.bias'] and model.resnet.fc.weight.grad is None
assert losses[-1] < 0.4 * losses[0]
