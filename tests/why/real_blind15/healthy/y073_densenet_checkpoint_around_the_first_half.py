# https://github.com/gpleiss/efficient_densenet_pytorch/issues/76
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint as cp

torch.manual_seed(0)


def _bn_function_factory(norm, relu, conv):
    def bn_function(*inputs):
        concated_features = torch.cat(inputs, 1)
        return conv(relu(norm(concated_features)))
    return bn_function


class _DenseLayer(nn.Module):
    def __init__(self, num_input_features, growth_rate, bn_size, efficient):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, bn_size * growth_rate, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, kernel_size=3, padding=1, bias=False)
        self.efficient = efficient

    def forward(self, *prev_features):
        bn_function = _bn_function_factory(self.norm1, self.relu1, self.conv1)
        if self.efficient and any(prev_feature.requires_grad for prev_feature in prev_features):
            bottleneck_output = cp.checkpoint(bn_function, *prev_features, use_reentrant=True)
        else:
            bottleneck_output = bn_function(*prev_features)
        return self.conv2(self.relu2(self.norm2(bottleneck_output)))


class _DenseBlock(nn.Module):
    def __init__(self, num_layers, num_input_features, growth_rate, efficient):
        super().__init__()
        for i in range(num_layers):
            layer = _DenseLayer(num_input_features + i * growth_rate, growth_rate, bn_size=2, efficient=efficient)
            self.add_module('denselayer%d' % (i + 1), layer)

    def forward(self, init_features):
        features = [init_features]
        for name, layer in self.named_children():
            features.append(layer(*features))
        return torch.cat(features, 1)


class DenseNet(nn.Module):
    def __init__(self, growth_rate=6, num_layers=4, num_init_features=8, num_classes=4, efficient=True):
        super().__init__()
        self.conv0 = nn.Conv2d(1, num_init_features, 3, padding=1, bias=False)
        self.block = _DenseBlock(num_layers, num_init_features, growth_rate, efficient)
        num_features = num_init_features + num_layers * growth_rate
        self.norm_final = nn.BatchNorm2d(num_features)
        self.classifier = nn.Linear(num_features, num_classes)

    def forward(self, x):
        features = self.block(self.conv0(x))
        out = F.relu(self.norm_final(features), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(out, 1).flatten(1))


def batch(n=64):
    y = torch.randint(0, 4, (n,))
    x = 0.4 * torch.randn(n, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        at = int(torch.randint(1, 7, (1,)))
        line = x[i, 0, at] if k % 2 == 0 else x[i, 0, :, at]
        line[::1 + k // 2] += 1.5
    return x, y


# %%
model = DenseNet(efficient=True)
plain = copy.deepcopy(model)
for layer in plain.block.children():
    layer.efficient = False
x, y = batch()
F.cross_entropy(model(x), y).backward()
F.cross_entropy(plain(x), y).backward()
same = all(torch.allclose(p.grad, q.grad, atol=1e-5) for p, q in zip(model.parameters(), plain.parameters()))

# %%
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[60, 80], gamma=0.1)
losses = []
for batch_idx in range(100):
    x, y = batch()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    x, y = batch(400)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
print(losses[0], losses[-1], accuracy)
assert same and all(p.grad is not None for p in model.parameters())
assert accuracy > 0.9
