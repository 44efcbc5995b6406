# https://github.com/heartcored98/Standalone-DeepLearning/issues/11
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class CNN(nn.Module):
    def __init__(self, in_channels, out_dim):
        super(CNN, self).__init__()
        self.act = nn.ReLU()
        self.layers = nn.Sequential(
            nn.Conv2d(in_channels, 8, kernel_size=3, stride=1, padding=1), self.act, nn.MaxPool2d(2),
            nn.Conv2d(8, 16, kernel_size=3, stride=1, padding=1), self.act, nn.MaxPool2d(2))
        self.classifer = nn.Linear(16 * 4 * 4, out_dim)

    def forward(self, x):
        x = self.layers(x)
        x = x.view(x.size(0), -1)
        return self.classifer(x)


def train(net, trainset, optimizer, criterion):
    trainloader = DataLoader(trainset, batch_size=16, shuffle=True)
    net.train()
    optimizer.zero_grad()

    correct = 0
    total = 0
    train_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        # get the inputs
        inputs, labels = data
        outputs = net(inputs)

        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()

        train_loss += loss.item()
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
    return net, train_loss / len(trainloader), 100 * correct / total


# %%
trainset = TensorDataset(torch.randn(128, 3, 16, 16), torch.randint(0, 10, (128,)))
net = CNN(in_channels=3, out_dim=10)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.01, weight_decay=1e-5)

# %%
for epoch in range(3):
    net, train_loss, train_acc = train(net, trainset, optimizer, criterion)
    print('Epoch {}, Acc {:2.2f}, Loss {:2.2f}'.format(epoch, train_acc, train_loss))
