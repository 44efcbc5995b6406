# https://github.com/Coderx7/SimpleNet/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SimpleNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU())
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        out = self.features(x)

        # Global Max Pooling
        out = F.max_pool2d(out, kernel_size=out.size()[2:])
        out = F.dropout2d(out, 0.1, training=True)

        out = out.view(out.size(0), -1)
        out = self.classifier(out)
        return out


net = SimpleNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
images, targets = torch.randn(8, 1, 8, 8), torch.randint(3, (8,))
for epoch in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), targets)
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    one, two = net(images), net(images)
print((one - two).abs().max())
