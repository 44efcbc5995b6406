# https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler

torch.manual_seed(0)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.relu = nn.ReLU(inplace=True)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 1000)

    def forward(self, x):
        return self.fc(self.avgpool(self.relu(self.conv1(x))).flatten(1))


# %%
model_conv = ResNet()
for param in model_conv.parameters():
    param.requires_grad = False

# Parameters of newly constructed modules have requires_grad=True by default
num_ftrs = model_conv.fc.in_features
model_conv.fc = nn.Linear(num_ftrs, 2)
criterion = nn.CrossEntropyLoss()
# Observe that only parameters of final layer are being optimized as opposed to before.
optimizer_conv = optim.SGD(model_conv.fc.parameters(), lr=0.001, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_conv, step_size=7, gamma=0.1)
before = model_conv.fc.weight.detach().clone()

# %%
for epoch in range(2):
    for phase in ['train', 'val']:
        model_conv.train(phase == 'train')
        inputs, labels = torch.rand(4, 3, 8, 8), torch.randint(0, 2, (4,))
        optimizer_conv.zero_grad()
        with torch.set_grad_enabled(phase == 'train'):
            outputs = model_conv(inputs)
            _, preds = torch.max(outputs, 1)
            loss = criterion(outputs, labels)
            if phase == 'train':
                loss.backward()
                optimizer_conv.step()
        print(phase, loss.item(), torch.sum(preds == labels.data).item())
    exp_lr_scheduler.step()
