# https://github.com/facebookresearch/FixRes/issues/9
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.conv3, self.bn3 = nn.Conv2d(8, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn3(self.conv3(x)))
        return self.fc(x.mean((2, 3)))


# %%
model = ResNet()
for name, parameter in model.named_parameters():
    parameter.requires_grad = name.startswith(("bn3", "fc"))
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-2, momentum=0.9)
w_before, mean_before = model.fc.weight.detach().clone(), model.bn1.running_mean.clone()

# %%
for i in range(3):
    model.eval()
    model.bn3.train()
    images, labels = torch.rand(4, 3, 8, 8), torch.randint(0, 5, (4,))
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
