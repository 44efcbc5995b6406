# https://github.com/open-mmlab/mmdetection/issues/472
import torch
import torch.nn as nn

torch.manual_seed(0)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        out += residual
        out = self.relu(out)
        return out


def make_res_layer(block, inplanes, planes, blocks, stride=1):
    downsample = None
    if stride != 1 or inplanes != planes * block.expansion:
        downsample = nn.Sequential(
            nn.Conv2d(inplanes, planes * block.expansion, kernel_size=1, stride=stride, bias=False),
            nn.BatchNorm2d(planes * block.expansion),
        )

    layers = []
    layers.append(block(inplanes, planes, stride, downsample))
    inplanes = planes * block.expansion
    for i in range(1, blocks):
        layers.append(block(inplanes, planes, 1))

    return nn.Sequential(*layers)


class ResNet(nn.Module):
    def __init__(self, stage_blocks=(2, 2), strides=(1, 2), num_classes=5):
        super(ResNet, self).__init__()
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.res_layers = []
        for i, num_blocks in enumerate(stage_blocks):
            planes = 8 * 2**i
            res_layer = make_res_layer(BasicBlock, self.inplanes, planes, num_blocks, stride=strides[i])
            self.inplanes = planes * BasicBlock.expansion
            layer_name = 'layer{}'.format(i + 1)
            self.add_module(layer_name, res_layer)
            self.res_layers.append(layer_name)
        self.fc = nn.Linear(self.inplanes, num_classes)

    def res_layers_parameters(self):
        return [p for name in self.res_layers for p in getattr(self, name).parameters()]

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        for layer_name in self.res_layers:
            x = getattr(self, layer_name)(x)
        return self.fc(x.mean((2, 3)))


# %%
model = ResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=0.0001)
before = [p.detach().clone() for p in model.res_layers_parameters()]
for i in range(3):
    loss = nn.functional.cross_entropy(model(torch.rand(4, 3, 16, 16)), torch.randint(5, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
