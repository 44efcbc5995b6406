# https://github.com/isht7/pytorch-deeplab-resnet/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
affine_par = True


class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes, affine=affine_par)
        for i in self.bn1.parameters():
            i.requires_grad = False
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, padding=2, dilation=2, bias=False)
        self.bn2 = nn.BatchNorm2d(planes, affine=affine_par)
        for i in self.bn2.parameters():
            i.requires_grad = False
        self.conv3 = nn.Conv2d(planes, inplanes, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(inplanes, affine=affine_par)
        for i in self.bn3.parameters():
            i.requires_grad = False
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += residual
        return self.relu(out)


class Classifier_Module(nn.Module):
    def __init__(self, dilation_series, padding_series, inplanes, NoLabels):
        super(Classifier_Module, self).__init__()
        self.conv2d_list = nn.ModuleList()
        for dilation, padding in zip(dilation_series, padding_series):
            self.conv2d_list.append(nn.Conv2d(inplanes, NoLabels, kernel_size=3, padding=padding, dilation=dilation))
        for m in self.conv2d_list:
            m.weight.data.normal_(0, 0.01)

    def forward(self, x):
        out = self.conv2d_list[0](x)
        for i in range(len(self.conv2d_list) - 1):
            out += self.conv2d_list[i + 1](x)
        return out


class ResNet(nn.Module):
    def __init__(self, NoLabels=3):
        super(ResNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16, affine=affine_par)
        for i in self.bn1.parameters():
            i.requires_grad = False
        self.layer1 = Bottleneck(16, 8)
        self.layer5 = Classifier_Module([1, 2], [1, 2], 16, NoLabels)

    def forward(self, x):
        return self.layer5(self.layer1(F.relu(self.bn1(self.conv1(x)))))


def get_1x_lr_params_NOscale(model):
    for module in (model.conv1, model.bn1, model.layer1):
        for k in module.parameters():
            if k.requires_grad:
                yield k


def get_10x_lr_params(model):
    yield from model.layer5.parameters()


def get_data(batch):
    labels = torch.randint(0, 3, (batch, 3, 3)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    palette = torch.tensor([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.3, 0.0, 1.0]])
    return palette[labels].permute(0, 3, 1, 2) + 0.5 * torch.randn(batch, 3, 12, 12), labels


# %%
model = ResNet()
with torch.no_grad():  # what a pretrained network would have in its statistics
    model.train()
    for _ in range(30):
        model(get_data(8)[0])
model.eval()
base_lr, iter_size, max_iter = 0.01, 5, 60
optimizer = torch.optim.SGD([{'params': get_1x_lr_params_NOscale(model), 'lr': base_lr},
                             {'params': get_10x_lr_params(model), 'lr': 10 * base_lr}],
                            lr=base_lr, momentum=0.9, weight_decay=0.0005)
stats = {k: v.clone() for k, v in model.state_dict().items() if 'bn' in k}
convs = [p.detach().clone() for n, p in model.named_parameters() if 'conv' in n]

# %%
losses = []
optimizer.zero_grad()
for iter in range(max_iter * iter_size):
    images, label = get_data(1)
    out = model(images)
    loss = F.cross_entropy(out, label) / iter_size
    loss.backward()
    losses.append(loss.item() * iter_size)
    if (iter + 1) % iter_size == 0:
        for k, group in enumerate(optimizer.param_groups):
            group['lr'] = (1, 10)[k] * base_lr * (1 - iter / (max_iter * iter_size)) ** 0.9
        optimizer.step()
        optimizer.zero_grad()

# %%
with torch.no_grad():
    images, label = get_data(32)
    accuracy = (model(images).argmax(1) == label).float().mean().item()
stats_moved = any(not torch.equal(v, model.state_dict()[k]) for k, v in stats.items())
convs_moved = all(not torch.equal(a, b) for a, b in zip(convs, [p for n, p in model.named_parameters() if 'conv' in n]))
print(sum(losses[:20]) / 20, sum(losses[-20:]) / 20, accuracy, stats_moved, convs_moved)
assert not stats_moved and convs_moved
assert accuracy > 0.85
