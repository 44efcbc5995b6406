# https://github.com/yangze0930/NTS-Net/issues/14
import torch
from torch import nn

torch.manual_seed(0)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        feature2 = x
        x = nn.Dropout(p=0.5)(x)
        return self.fc(x), feature2


net = ResNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
img, label = torch.randn(4, 3, 8, 8), torch.randint(2, (4,))
for epoch in range(3):
    net.train()
    optimizer.zero_grad()
    logits, _ = net(img)
    loss = nn.functional.cross_entropy(logits, label)
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    one, two = net(img)[0], net(img)[0]
print(one, two)
