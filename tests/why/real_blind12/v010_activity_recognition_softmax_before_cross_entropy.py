# https://github.com/jindongwang/Deep-learning-activity-recognition/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super(Network, self).__init__()
        self.conv1 = nn.Sequential(
            nn.Conv2d(in_channels=9, out_channels=16, kernel_size=(1, 9)),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=(1, 2), stride=2)
        )
        self.conv2 = nn.Sequential(
            nn.Conv2d(in_channels=16, out_channels=32, kernel_size=(1, 9)),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=(1, 2), stride=2)
        )
        self.fc1 = nn.Sequential(nn.Linear(in_features=32 * 26, out_features=100), nn.ReLU())
        self.fc2 = nn.Sequential(nn.Linear(in_features=100, out_features=50), nn.ReLU())
        self.fc3 = nn.Sequential(nn.Linear(in_features=50, out_features=6))

    def forward(self, x):
        out = self.conv1(x)
        out = self.conv2(out)
        out = out.reshape(-1, 32 * 26)
        out = self.fc1(out)
        out = self.fc2(out)
        out = self.fc3(out)
        out = F.softmax(out, dim=1)
        return out


def train(model, optimizer, train_loader, nepoch):
    criterion = nn.CrossEntropyLoss()
    for e in range(nepoch):
        model.train()
        correct, total_loss, total = 0, 0, 0
        for sample, target in train_loader:
            sample = sample.view(-1, 9, 1, 128)
            output = model(sample)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
            _, predicted = torch.max(output.data, 1)
            total += target.size(0)
            correct += (predicted == target).sum().item()
        print(f'Epoch: [{e}/{nepoch}], loss:{total_loss / len(train_loader):.4f}, train_acc: {100 * correct / total:.2f}')
    return total_loss / len(train_loader)


# %%
target = torch.randint(0, 6, (96,))
sample = 0.5 * torch.randn(96, 9, 128) + torch.randn(6, 9, 128)[target]
train_loader = [(sample[i:i + 32], target[i:i + 32]) for i in range(0, 96, 32)]
model = Network()
optimizer = optim.SGD(params=model.parameters(), lr=0.05, momentum=0.9)
final_loss = train(model, optimizer, train_loader, nepoch=30)
