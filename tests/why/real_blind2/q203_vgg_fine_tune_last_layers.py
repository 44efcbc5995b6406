# https://github.com/rasbt/stat453-deep-learning-ss21/pull/3
import torch
import torch.nn.functional as F


class VGG(torch.nn.Module):
    def __init__(self, num_classes=100):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, kernel_size=3, padding=1),
            torch.nn.ReLU(inplace=True),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 8, kernel_size=3, padding=1),
            torch.nn.ReLU(inplace=True),
            torch.nn.MaxPool2d(2),
        )
        self.avgpool = torch.nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = torch.nn.Sequential(
            torch.nn.Linear(8 * 2 * 2, 24),
            torch.nn.ReLU(inplace=True),
            torch.nn.Dropout(p=0.5),
            torch.nn.Linear(24, 24),
            torch.nn.ReLU(inplace=True),
            torch.nn.Dropout(p=0.5),
            torch.nn.Linear(24, num_classes),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


# %%
RANDOM_SEED = 123
BATCH_SIZE = 8
NUM_EPOCHS = 2
DEVICE = torch.device('cpu')

train_loader = [(torch.randn(BATCH_SIZE, 3, 16, 16), torch.randint(10, (BATCH_SIZE,))) for _ in range(3)]
for images, labels in train_loader:
    print('Image batch dimensions:', images.shape)
    print('Image label dimensions:', labels.shape)
    break

# %%
pretrained = VGG().state_dict()
model = VGG()
model.load_state_dict(pretrained)

# %% Freezing the Model
for param in model.parameters():
    param.requires_grad = False

# %% Assume we want to fine-tune (train) the last 3 layers:
model.classifier[0].requires_grad = True
model.classifier[3].requires_grad = True

# %% For the last layer, the number of class labels differs compared to ImageNet
model.classifier[6] = torch.nn.Linear(24, 10)

# %% Then, Training as Usual
model = model.to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), momentum=0.9, lr=0.01)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.1, mode='max')

for epoch in range(NUM_EPOCHS):
    model.train()
    for batch_idx, (features, targets) in enumerate(train_loader):
        features, targets = features.to(DEVICE), targets.to(DEVICE)
        logits = model(features)
        loss = F.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f'Epoch: {epoch+1:03d}/{NUM_EPOCHS:03d} | Batch {batch_idx:04d} | Loss: {loss:.4f}')
    model.eval()
    with torch.no_grad():
        correct = sum((model(x).argmax(1) == y).sum() for x, y in train_loader)
    scheduler.step(correct)
