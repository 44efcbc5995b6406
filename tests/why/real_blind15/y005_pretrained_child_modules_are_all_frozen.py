# https://github.com/lxztju/pytorch_classification/issues/32
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

NUM_CLASSES, BATCH_SIZE, MAX_EPOCH, LR = 5, 8, 2, 1e-3


class VGG(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, num_classes))

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def build_model(num_classes):
    model = VGG(num_classes)
    # freeze the layers in front
    ct = 0
    for child in model.children():
        ct += 1
        if ct < 8:
            for param in child.parameters():
                param.requires_grad = False
    return model


train_datasets = [(torch.randn(3, 16, 16), torch.randint(0, NUM_CLASSES, ())) for _ in range(64)]
train_dataloader = torch.utils.data.DataLoader(train_datasets, batch_size=BATCH_SIZE, shuffle=True)

# %%
model = build_model(NUM_CLASSES)
optimizer = optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()
epoch_size = len(train_datasets) // BATCH_SIZE

model.train()
for iteration in range(MAX_EPOCH * epoch_size):
    if iteration % epoch_size == 0:
        batch_iterator = iter(train_dataloader)
    images, labels = next(batch_iterator)
    out = model(images)
    loss = criterion(out, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    train_acc = (torch.max(out, 1)[1] == labels).float().mean()
    if iteration % 10 == 0:
        print(iteration, loss.item(), train_acc.item())
