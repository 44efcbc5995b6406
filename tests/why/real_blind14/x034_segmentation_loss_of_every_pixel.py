# https://github.com/pytorch/pytorch/issues/6166
import torch
import torch.nn as nn

torch.manual_seed(0)


class FCN(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.score = nn.Conv2d(16, num_classes, 1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        return self.up(self.score(self.middle(self.down(x))))


def make_batches(n, size=12):
    batches = []
    for _ in range(n):
        labels = torch.randint(0, 4, (4, size // 4, size // 4))
        labels = labels.repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)
        colors = torch.stack([labels % 2, labels // 2, labels * 0], dim=1).float()
        batches.append((colors + 0.1 * torch.randn(colors.shape), labels))
    return batches


loader = make_batches(10)

# %%
model = FCN()
logsoftmax = nn.LogSoftmax(dim=1)
criterion = nn.NLLLoss(reduction="none")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(5):
    for images, labels in loader:
        optimizer.zero_grad()
        outputs = model(images)
        outputs = logsoftmax(outputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
