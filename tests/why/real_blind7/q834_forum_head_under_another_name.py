# https://discuss.pytorch.org/t/element-0-of-tensors-does-not-require-grad-and-does-not-have-a-grad-fn/32908
import torch
from collections import OrderedDict
from torch import nn, optim

torch.manual_seed(0)


class ResNet(nn.Module):
    """Stands in for torchvision.models.resnet50(pretrained=True)."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.layer1 = nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32, 1000)

    def forward(self, x):
        x = self.avgpool(self.layer1(self.conv1(x)))
        return self.fc(torch.flatten(x, 1))


# %%
model = ResNet()
# Freeze parameters so we don't backprop through them
for param in model.parameters():
    param.requires_grad = False

classifier = nn.Sequential(OrderedDict([
    ('fc1', nn.Linear(32, 16)),
    ('relu', nn.ReLU()),
    ('fc2', nn.Linear(16, 10)),
    ('output', nn.LogSoftmax(dim=1)),
]))
model.classifier = classifier

criterion = nn.NLLLoss()
# Only train the classifier parameters, feature parameters are frozen
optimizer = optim.Adam(model.classifier.parameters(), lr=0.001)

# %%
inputs, labels = torch.rand(4, 3, 8, 8), torch.randint(0, 10, (4,))
optimizer.zero_grad()
outputs = model.forward(inputs)
loss = criterion(outputs, labels)
loss.backward()
optimizer.step()
