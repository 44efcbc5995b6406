# https://github.com/pytorch/examples/blob/main/siamese_network/main.py
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
random.seed(0)


class ResNet(nn.Module):
    def __init__(self):
        super(ResNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.fc = nn.Linear(32 * 4, 1000)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super(SiameseNetwork, self).__init__()
        self.resnet = ResNet()
        # over-write the first conv layer to be able to read gray images
        self.resnet.conv1 = nn.Conv2d(1, 16, kernel_size=(3, 3), padding=(1, 1), bias=False)
        self.fc_in_features = self.resnet.fc.in_features
        # remove the last layer of resnet (linear layer which is before avgpool layer)
        self.resnet = torch.nn.Sequential(*(list(self.resnet.children())[:-1]))
        # add linear layers to compare between the features of the two images
        self.fc = nn.Sequential(
            nn.Linear(self.fc_in_features * 2, 64),
            nn.ReLU(inplace=True),
            nn.Linear(64, 1),
        )
        self.sigmoid = nn.Sigmoid()
        # initialize the weights
        self.resnet.apply(self.init_weights)
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        output = self.resnet(x)
        output = output.view(output.size()[0], -1)
        return output

    def forward(self, input1, input2):
        output1 = self.forward_once(input1)
        output2 = self.forward_once(input2)
        # concatenate both images' features
        output = torch.cat((output1, output2), 1)
        return self.sigmoid(self.fc(output))


class APP_MATCHER(Dataset):
    shapes = (torch.rand(3, 1, 10, 10) > 0.5).float()

    def __init__(self, n):
        self.targets = torch.randint(0, 3, (n,))
        self.data = self.shapes[self.targets] + 0.2 * torch.randn(n, 1, 10, 10)
        self.grouped_examples = {i: torch.where(self.targets == i)[0].tolist() for i in range(0, 3)}

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        selected_class = random.randint(0, 2)
        image_1 = self.data[random.choice(self.grouped_examples[selected_class])].clone().float()
        if index % 2 == 0:
            image_2 = self.data[random.choice(self.grouped_examples[selected_class])].clone().float()
            target = torch.tensor(1, dtype=torch.float)
        else:
            other = random.choice([c for c in range(3) if c != selected_class])
            image_2 = self.data[random.choice(self.grouped_examples[other])].clone().float()
            target = torch.tensor(0, dtype=torch.float)
        return image_1, image_2, target


# %%
train_loader = torch.utils.data.DataLoader(APP_MATCHER(640), batch_size=64)
test_loader = torch.utils.data.DataLoader(APP_MATCHER(200), batch_size=100)
model = SiameseNetwork()
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.8)
criterion = nn.BCELoss()
losses = []
for epoch in range(1, 7):
    model.train()
    for batch_idx, (images_1, images_2, targets) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(images_1, images_2).squeeze()
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()

# %%
model.eval()
correct = 0
with torch.no_grad():
    for (images_1, images_2, targets) in test_loader:
        outputs = model(images_1, images_2).squeeze()
        pred = torch.where(outputs > 0.5, 1, 0)
        correct += pred.eq(targets.view_as(pred)).sum().item()
accuracy = correct / len(test_loader.dataset)
print(losses[0], losses[-1], accuracy)
assert accuracy > 0.9 and losses[-1] < 0.5 * losses[0]
