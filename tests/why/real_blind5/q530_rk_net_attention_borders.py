# https://github.com/AggMan96/RK-Net/issues/9
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class USAM(nn.Module):
    def __init__(self, kernel_size=3, padding=1, polish=True):
        super(USAM, self).__init__()
        kernel = torch.ones((kernel_size, kernel_size))
        self.weight = nn.Parameter(data=kernel.expand(1, 1, kernel_size, kernel_size).clone(), requires_grad=False)
        kernel2 = torch.ones((1, 1)) * (kernel_size * kernel_size)
        self.weight2 = nn.Parameter(data=kernel2.expand(1, 1, 1, 1).clone(), requires_grad=False)
        self.polish = polish
        self.pad = padding
        self.bn = nn.BatchNorm2d(1)

    def __call__(self, x):
        fmap = x.sum(1, keepdim=True)
        x1 = F.conv2d(fmap, self.weight, padding=self.pad)
        x2 = F.conv2d(fmap, self.weight2, padding=0)
        att = x2 - x1
        att = self.bn(att)
        att = F.relu(att)
        if self.polish:
            att[:, :, :, 0] = 0
            att[:, :, :, -1] = 0
            att[:, :, 0, :] = 0
            att[:, :, -1, :] = 0
        output = x + att * x
        return output


class two_view_net(nn.Module):
    def __init__(self, class_num):
        super(two_view_net, self).__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.usam_1 = USAM()
        self.layer2 = nn.Conv2d(8, 16, 3, 2, 1)
        self.classifier = nn.Linear(16, class_num)

    def forward(self, x1, x2):
        return [self.classifier(self.layer2(self.usam_1(self.layer1(x))).mean((2, 3))) for x in (x1, x2)]


# %%
model = two_view_net(5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
criterion = nn.CrossEntropyLoss()

# %%
inputs, inputs2, labels = torch.rand(4, 3, 16, 16), torch.rand(4, 3, 16, 16), torch.randint(0, 5, (4,))
outputs, outputs2 = model(inputs, inputs2)
loss = criterion(outputs, labels) + criterion(outputs2, labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item())
