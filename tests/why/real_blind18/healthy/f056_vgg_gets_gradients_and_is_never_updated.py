# https://github.com/twtygqyy/pytorch-SRResNet/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(0)


class _Residual_Block(nn.Module):
    def __init__(self):
        super(_Residual_Block, self).__init__()
        self.conv1 = nn.Conv2d(12, 12, 3, 1, 1, bias=False)
        self.in1 = nn.InstanceNorm2d(12, affine=True)
        self.relu = nn.LeakyReLU(0.2, inplace=True)
        self.conv2 = nn.Conv2d(12, 12, 3, 1, 1, bias=False)
        self.in2 = nn.InstanceNorm2d(12, affine=True)

    def forward(self, x):
        identity_data = x
        output = self.relu(self.in1(self.conv1(x)))
        output = self.in2(self.conv2(output))
        output = torch.add(output, identity_data)
        return output


class _NetG(nn.Module):
    def __init__(self):
        super(_NetG, self).__init__()
        self.conv_input = nn.Conv2d(1, 12, 5, 1, 2, bias=False)
        self.relu = nn.LeakyReLU(0.2, inplace=True)
        self.residual = nn.Sequential(_Residual_Block(), _Residual_Block())
        self.upscale = nn.Sequential(nn.Conv2d(12, 48, 3, 1, 1, bias=False), nn.PixelShuffle(2), nn.LeakyReLU(0.2, inplace=True))
        self.conv_output = nn.Conv2d(12, 1, 5, 1, 2, bias=False)

    def forward(self, x):
        out = self.relu(self.conv_input(x))
        out = torch.add(self.residual(out), out)
        return self.conv_output(self.upscale(out))


def textures(n):
    kind = torch.randint(0, 3, (n,))
    wave = torch.sin(torch.arange(16.0) * 0.7 + torch.rand(n, 1) * 6.28)
    rows, cols = wave.unsqueeze(2).expand(n, 16, 16), wave.unsqueeze(1).expand(n, 16, 16)
    return torch.stack([rows, cols, rows * cols], 1)[torch.arange(n), kind].unsqueeze(1), kind


# %%
netVGG = nn.Sequential()
netVGG.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2))
netVGG.classifier = nn.Sequential(nn.Flatten(), nn.Linear(16 * 16, 3))
pretrain = optim.Adam(netVGG.parameters(), lr=3e-3)
for _ in range(30):
    images, kind = textures(32)
    pretrain.zero_grad()
    F.cross_entropy(netVGG(images), kind).backward()
    pretrain.step()


class _content_model(nn.Module):
    def __init__(self):
        super(_content_model, self).__init__()
        self.feature = nn.Sequential(*list(netVGG.features.children())[:-1])

    def forward(self, x):
        return self.feature(x)


netContent = _content_model()
model = _NetG()
criterion = nn.MSELoss(reduction='sum')
optimizer = optim.Adam(model.parameters(), lr=3e-3)
vgg_before = [p.detach().clone() for p in netContent.parameters()]

# %%
history = []
model.train()
for iteration in range(1, 51):
    target, _ = textures(8)
    input, target = Variable(F.avg_pool2d(target, 2)), Variable(target, requires_grad=False)
    output = model(input)
    loss = criterion(output, target)
    content_input = netContent(output)
    content_target = netContent(target)
    content_target = content_target.detach()
    content_loss = criterion(content_input, content_target)

    optimizer.zero_grad()
    netContent.zero_grad()
    content_loss.backward(retain_graph=True)
    loss.backward()
    optimizer.step()
    history.append((loss.item(), content_loss.item()))

# %%
out = model(input)
summed = torch.autograd.grad(criterion(netContent(out), content_target) + criterion(out, target), list(model.parameters()))
optimizer.zero_grad()
out = model(input)
criterion(netContent(out), content_target).backward(retain_graph=True)
criterion(out, target).backward()
same = all(torch.allclose(a, p.grad, rtol=1e-3, atol=1e-3) for a, p in zip(summed, model.parameters()))
vgg_moved = any(not torch.equal(a, b) for a, b in zip(vgg_before, netContent.parameters()))
print(history[0], history[-1], same, vgg_moved)
assert not vgg_moved and all(p.grad is not None for p in netContent.parameters()) and same
assert history[-1][0] < 0.2 * history[0][0] and history[-1][1] < 0.5 * history[0][1]
