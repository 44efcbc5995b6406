# https://stackoverflow.com/questions/60335387
import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.fc1 = nn.Linear(256, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.max_pool2d(x, 2)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.fc2(x)
        # output = F.log_softmax(x, dim=1)
        return x


train_loader = [(torch.randn(30, 1, 12, 12), torch.randint(0, 10, (30,))) for _ in range(8)]

# %%
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=1e-4)
epochs = 2

# %%
for epoch in range(epochs):
    model.train()
    running_loss = 0.0
    correct = 0
    total = 0
    for batch_idx, (data, label) in enumerate(train_loader):
        pred_score = model(data)
        loss = criterion(pred_score, label)
        loss.backward()
        optimizer.step()

        running_loss += loss.item()
        _, pred = pred_score.topk(1)
        pred = pred.t().squeeze()
        correct += pred.eq(label).sum().item()
        total += label.size(0)

        if batch_idx % 4 == 0:
            print('epoch', epoch, batch_idx, '/', len(train_loader), 'loss', loss.item())
