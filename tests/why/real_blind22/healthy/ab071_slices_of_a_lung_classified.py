# https://github.com/bkong999/COVNet/issues/28
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class COVNet(nn.Module):
    def __init__(self, n_classes):
        super(COVNet, self).__init__()
        self.pretrained_model = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.pooling_layer = nn.AdaptiveAvgPool2d(1)
        self.classifer = nn.Linear(32, n_classes)

    def forward(self, x):
        x = torch.squeeze(x, dim=0)
        features = self.pretrained_model(x)
        pooled_features = self.pooling_layer(features)
        pooled_features = pooled_features.view(pooled_features.size(0), -1)
        flattened_features = torch.max(pooled_features, 0, keepdim=True)[0]
        return self.classifer(flattened_features)


class CTDataset(Dataset):
    def __init__(self, n):
        self.labels = torch.randint(0, 3, (n,))
        self.scans = 0.5 * torch.randn(n, 6, 3, 32, 32)
        for scan, label in zip(self.scans, self.labels):
            scan[2:4, label, 8:24, 8:24] += 1.5

    def __getitem__(self, idx):
        return self.scans[idx], self.labels[idx]

    def __len__(self):
        return len(self.labels)


# %%
def train_model(model, train_loader, epoch, num_epochs, optimizer):
    n_classes = 3
    metric = torch.nn.CrossEntropyLoss()
    model.train()

    y_probs = torch.zeros(0, n_classes)
    y_trues = torch.zeros(0, dtype=torch.long)
    losses = []

    for i, (image, label) in enumerate(train_loader):
        optimizer.zero_grad()
        prediction = model.forward(image.float())
        loss = metric(prediction, label.long())
        loss.backward()
        optimizer.step()

        losses.append(loss.item())
        y_prob = F.softmax(prediction, dim=1)
        y_probs = torch.cat([y_probs, y_prob.detach()], dim=0)
        y_trues = torch.cat([y_trues, label], dim=0)

    accuracy = (y_probs.argmax(dim=1) == y_trues).float().mean().item()
    return sum(losses) / len(losses), accuracy, loss


# %%
model = COVNet(3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.01)
train_loader = DataLoader(CTDataset(40), batch_size=1, shuffle=True)

# %%
history = []
for epoch in range(4):
    train_loss, train_acc, loss = train_model(model, train_loader, epoch, 4, optimizer)
    history.append((train_loss, train_acc))
print(history)
