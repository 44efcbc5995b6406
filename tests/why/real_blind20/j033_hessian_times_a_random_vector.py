# https://discuss.pytorch.org/t/understanding-gradients-of-gradients
import torch
import torch.nn as nn

torch.manual_seed(0)


class ConvBlock(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.activ = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.activ(self.bn(self.conv(x)))


class ResInitBlock(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = ConvBlock(in_channels, out_channels)
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)

    def forward(self, x):
        return self.pool(self.conv(x))


class ResNet(nn.Module):
    def __init__(self, channels=8, num_classes=10):
        super().__init__()
        self.features = nn.Sequential()
        self.features.add_module("init_block", ResInitBlock(3, channels))
        self.features.add_module("final_pool", nn.AdaptiveAvgPool2d(1))
        self.output = nn.Linear(channels, num_classes)

    def forward(self, x):
        return self.output(self.features(x).flatten(1))


def get_params_grad(model):
    params = []
    grads = []
    for param in model.parameters():
        if not param.requires_grad:
            continue
        params.append(param)
        grads.append(0. if param.grad is None else param.grad + 0.)
    return params, grads


# %%
resnet = ResNet()
resnet.eval()
resnet_modules = list(resnet.modules())

model = nn.Sequential(
    resnet_modules[0].features.init_block.conv.conv,
    # resnet_modules[0].features.init_block.conv.bn,
    # resnet_modules[0].features.init_block.conv.activ,
)

inputs = torch.rand(size=(1, 3, 32, 32), dtype=torch.float32, requires_grad=True)
outputs = model(inputs)
outputs.backward(torch.ones_like(outputs, dtype=torch.float), create_graph=True)

# %%
params, grads = get_params_grad(model)
model.zero_grad()
v = [
    torch.randint_like(p, high=2)
    for p in params
]

# generate Rademacher random variables
for v_i in v:
    v_i[v_i == 0] = -1

# %%
Hv = torch.autograd.grad(grads,
                         params,
                         grad_outputs=v,
                         only_inputs=True,
                         retain_graph=True)
print(Hv)
