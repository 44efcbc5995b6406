# https://discuss.pytorch.org/t/when-would-the-error-one-of-the-variables-needed-for-gradient-computation-has-been-modified-occur/11976/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TwoBranches(nn.Module):
    def __init__(self, channels=8, num_classes=4):
        super(TwoBranches, self).__init__()
        self.conv1 = nn.Conv2d(3, channels, 3, padding=1)
        self.conv1_p = nn.Conv2d(channels, channels, 1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2_p = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn = nn.BatchNorm2d(channels)
        self.fc = nn.Linear(2 * channels, num_classes)

    def some_layer(self, input):
        return self.bn(self.conv2(F.relu(self.conv1(input))))

    def forward(self, input):
        residual = self.some_layer(input)
        x = self.conv1(input)  # main branch
        x_p = self.conv1_p(x)  # another branch
        x += residual  # main branch
        x = F.relu(x)
        x_p = F.relu(self.conv2_p(x_p))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        x_p = F.adaptive_avg_pool2d(x_p, 1).flatten(1)
        return self.fc(torch.cat([x, x_p], dim=1))


# %%
model = TwoBranches()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

# %%
for step in range(3):
    images = torch.randn(6, 3, 12, 12)
    labels = torch.randint(0, 4, (6,))
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
