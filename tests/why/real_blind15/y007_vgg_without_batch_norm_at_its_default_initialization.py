# https://forums.fast.ai/t/broken-default-cnn-behaviour/48936
import torch
import torch.nn as nn

torch.manual_seed(0)

CFG16 = [8, 8, "M", 16, 16, "M", 32, 32, 32, "M", 64, 64, 64, "M", 64, 64, 64, "M"]


def make_layers(cfg):
    layers, in_channels = [], 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
        else:
            layers += [nn.Conv2d(in_channels, v, kernel_size=3, padding=1), nn.ReLU()]
            in_channels = v
    return nn.Sequential(*layers)


class VGG(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = make_layers(CFG16)
        self.classifier = nn.Sequential(
            nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, num_classes))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.view(x.size(0), -1))


def batch(size=32):
    labels = torch.randint(0, 10, (size,))
    return torch.randn(size, 3, 32, 32) + PATTERNS[labels], labels


def stats(x):
    return x.mean().item(), x.std().item()


PATTERNS = torch.randn(10, 3, 32, 32)

# %%
model = VGG()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
model.train()
for iteration in range(12):
    images, labels = batch()
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    print(iteration, loss.item())

for layer in model.features:
    if isinstance(layer, nn.Conv2d):
        print(stats(layer.weight.grad.data))
