# https://stackoverflow.com/questions/70335181
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

torch.manual_seed(0)


class LearnableLeakyReLU(nn.Module):
    """LeakyReLU whose slope is learnt (one for the layer)"""
    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.weight = Parameter(torch.ones(1) * negative_slope)

    def forward(self, x):
        return F.leaky_relu(x, negative_slope=float(self.weight))


class CNN(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.act1 = LearnableLeakyReLU()
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.act2 = LearnableLeakyReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(16 * 2 * 2, num_classes)

    def forward(self, x):
        x = self.pool(self.act1(self.conv1(x)))
        x = self.pool(self.act2(self.conv2(x)))
        return self.fc(x.flatten(1))


# %%
net = CNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
labels = torch.randint(0, 4, (64,))
images = torch.randn(64, 1, 8, 8) + labels[:, None, None, None]

for epoch in range(3):
    running_loss = 0.0
    for i in range(0, 64, 16):
        optimizer.zero_grad()
        outputs = net(images[i:i + 16])
        loss = criterion(outputs, labels[i:i + 16])
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"epoch {epoch}: {running_loss / 4:.3f}, slopes {net.act1.weight.item():.4f} {net.act2.weight.item():.4f}")
