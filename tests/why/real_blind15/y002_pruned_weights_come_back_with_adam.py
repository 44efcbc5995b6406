# https://discuss.pytorch.org/t/how-to-prune-weights-in-pytorch/4636
import torch
import torch.nn as nn

torch.manual_seed(0)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(
            nn.Conv2d(8, 16, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(4 * 4 * 16, 4)

    def forward(self, x):
        out = self.layer2(self.layer1(x))
        return self.fc(out.view(out.size(0), -1))


def batches(n, size=32):
    for _ in range(n):
        labels = torch.randint(0, 4, (size,))
        images = 0.3 * torch.randn(size, 1, 16, 16)
        for image, label in zip(images, labels):
            row, col = divmod(label.item(), 2)
            image[0, 8 * row:8 * row + 8, 8 * col:8 * col + 8] += 1.0
        yield images, labels


cnn = CNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(cnn.parameters(), lr=1e-3)

# %%
# first stage: train as usual
for images, labels in batches(60):
    optimizer.zero_grad()
    loss = criterion(cnn(images), labels)
    loss.backward()
    optimizer.step()
print("trained", loss.item())

# weights below the threshold are set to zero and remembered
pruned_inds_by_layer = []
for p in cnn.parameters():
    pruned_inds = p.data.abs() < 0.03
    p.data[pruned_inds] = 0.0
    pruned_inds_by_layer.append(pruned_inds)

# second stage: retrain what is left
for images, labels in batches(40):
    optimizer.zero_grad()
    outputs = cnn(images)
    loss = criterion(outputs, labels)
    loss.backward()
    # zero-out all the gradients corresponding to the pruned connections
    for l, p in enumerate(cnn.parameters()):
        p.grad.data[pruned_inds_by_layer[l]] = 0.0
    optimizer.step()

nonzero = sum((p.data[i] != 0).sum().item() for p, i in zip(cnn.parameters(), pruned_inds_by_layer))
print("pruned", sum(i.sum().item() for i in pruned_inds_by_layer), "non-zero again", nonzero)
