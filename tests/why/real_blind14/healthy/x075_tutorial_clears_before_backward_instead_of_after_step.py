# https://github.com/patrickloeber/pytorchTutorial/issues/19
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
device = torch.device('cpu')

# Hyper-parameters
input_size, hidden_size, num_classes = 64, 50, 5
num_epochs, batch_size, learning_rate = 3, 50, 0.005


class Digits(Dataset):
    """Strokes of five kinds on eight by eight pixels."""

    def __init__(self, n):
        self.labels = torch.randint(0, num_classes, (n,))
        self.images = 0.3 * torch.randn(n, 1, 8, 8)
        for i, k in enumerate(self.labels.tolist()):
            at = int(torch.randint(2, 6, (1,)))
            if k == 0:
                self.images[i, 0, at, :] += 1
            elif k == 1:
                self.images[i, 0, :, at] += 1
            elif k == 2:
                self.images[i, 0].diagonal().add_(1)
            elif k == 3:
                self.images[i, 0, range(8), range(7, -1, -1)] += 1
            else:
                self.images[i, 0, at - 1:at + 2, at - 1:at + 2] += 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class NeuralNet(nn.Module):
    def __init__(self, input_size, hidden_size, num_classes):
        super().__init__()
        self.l1 = nn.Linear(input_size, hidden_size)
        self.relu = nn.ReLU()
        self.l2 = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        out = self.l1(x)
        out = self.relu(out)
        return self.l2(out)


train_loader = DataLoader(Digits(1500), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(Digits(500), batch_size=batch_size)

# %%
model = NeuralNet(input_size, hidden_size, num_classes).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
n_total_steps = len(train_loader)
first_weight = model.l1.weight.detach().clone()
losses = []

# %%
for epoch in range(num_epochs):
    for i, (images, labels) in enumerate(train_loader):
        images = images.reshape(-1, 8 * 8).to(device)
        labels = labels.to(device)
        outputs = model(images)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (i + 1) % 10 == 0:
            print(f'Epoch [{epoch + 1}/{num_epochs}], Step [{i + 1}/{n_total_steps}], Loss: {loss.item():.4f}')

# %%
with torch.no_grad():
    n_correct = n_samples = 0
    for images, labels in test_loader:
        outputs = model(images.reshape(-1, 8 * 8).to(device))
        _, predicted = torch.max(outputs, 1)
        n_samples += labels.size(0)
        n_correct += (predicted == labels).sum().item()
acc = 100.0 * n_correct / n_samples
print(f'Accuracy of the network on the {n_samples} test images: {acc} %')
assert not torch.equal(first_weight, model.l1.weight)
assert losses[-1] < 0.5 * losses[0] and acc > 85
