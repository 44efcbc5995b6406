# https://github.com/hustzxd/EfficientPyTorch/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Conv2dSQ(nn.Conv2d):
    def __init__(self, *args, nbits_w=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.nbits_w = nbits_w

    def forward(self, x):
        step = self.weight.detach().abs().max() / 2 ** (self.nbits_w - 1)
        w_q = torch.round(self.weight.detach() / step) * step
        w_q = self.weight + (w_q - self.weight).detach()
        return F.conv2d(x, w_q, self.bias, self.stride, self.padding)


class QuantizeWrapper:
    def replace_conv_recursively(self, module, nbits_w):
        for name, child in module.named_children():
            if isinstance(child, nn.Conv2d):
                new = Conv2dSQ(child.in_channels, child.out_channels, child.kernel_size, child.stride, child.padding, bias=child.bias is not None, nbits_w=nbits_w)
                new.weight.data.copy_(child.weight.data)
                if child.bias is not None:
                    new.bias.data.copy_(child.bias.data)
                setattr(module, name, new)
            else:
                self.replace_conv_recursively(child, nbits_w)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.classifier = nn.Linear(8, 10)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


# %%
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
wrapper = QuantizeWrapper()
# prune and quantize the model
wrapper.replace_conv_recursively(model, nbits_w=4)
before = [m.weight.detach().clone() for m in model.modules() if isinstance(m, Conv2dSQ)]

# %%
model.train()
for i in range(5):
    images, target = torch.rand(8, 3, 8, 8), torch.randint(0, 10, (8,))
    output = model(images)
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
