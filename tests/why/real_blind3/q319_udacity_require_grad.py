# https://github.com/udacity/deep-learning-v2-pytorch/issues/12
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class VGG(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Linear(8 * 4 * 4, 32), nn.ReLU(True), nn.Dropout(),
            nn.Linear(32, 32), nn.ReLU(True), nn.Dropout(),
            nn.Linear(32, num_classes))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


# %%
# Load the pretrained model
vgg16 = VGG()

# Freeze training for all "features" layers
for param in vgg16.features.parameters():
    param.require_grad = False

n_inputs = vgg16.classifier[6].in_features
last_layer = nn.Linear(n_inputs, 5)  # the flower classes
vgg16.classifier[6] = last_layer
print(vgg16.classifier[6].out_features)

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(vgg16.classifier.parameters(), lr=0.001)
train_loader = [(torch.randn(4, 3, 16, 16), torch.randint(5, (4,))) for _ in range(4)]

# %%
n_epochs = 2
for epoch in range(1, n_epochs + 1):
    train_loss = 0.0
    for batch_i, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        output = vgg16(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    print('Epoch %d loss: %.4f' % (epoch, train_loss / len(train_loader)))
