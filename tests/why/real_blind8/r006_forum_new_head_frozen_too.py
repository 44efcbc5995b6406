# https://discuss.pytorch.org/t/obtaining-abnormal-changes-in-loss-and-accuracy/84911
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(786)


class EfficientNet(nn.Module):
    def __init__(self):
        super().__init__()
        self._conv_stem = nn.Conv2d(3, 8, 3, stride=2, bias=False)
        self._bn0 = nn.BatchNorm2d(8)
        self._conv_head = nn.Conv2d(8, 16, 3, bias=False)
        self._bn1 = nn.BatchNorm2d(16)
        self._fc = nn.Linear(16, 1000)

    def forward(self, x):
        x = torch.relu(self._bn0(self._conv_stem(x)))
        x = torch.relu(self._bn1(self._conv_head(x)))
        return self._fc(x.mean((2, 3)))


loaders = {"train": [(torch.randn(8, 3, 16, 16), torch.randint(0, 100, (8,))) for _ in range(6)]}

# %%
model_transfer = EfficientNet()
n_inputs = model_transfer._fc.in_features

num_classes = 100
model_transfer._fc = nn.Linear(n_inputs, num_classes)

criterion_transfer = nn.CrossEntropyLoss()
optimizer_transfer = optim.Adam(model_transfer._fc.parameters(), lr=0.001)

for name, param in model_transfer.named_parameters():
    if "bn" not in name:
        param.requires_grad = False

for param in model_transfer._fc.parameters():
    param.requires_grad = False

print(model_transfer._fc.in_features)


# %%
def train(n_epochs, loaders, model, optimizer, criterion):
    """returns trained model"""
    for epoch in range(1, n_epochs + 1):
        train_loss = 0.0
        model.train()
        for batch_idx, (data, target) in enumerate(loaders["train"]):
            optimizer.zero_grad()
            output = model(data)
            loss = criterion(output, target)
            loss.backward()
            optimizer.step()
            train_loss += (1 / (batch_idx + 1)) * (float(loss) - train_loss)
        print("Epoch: {} \tTraining Loss: {:.6f}".format(epoch, train_loss))
    return model


# %%
start = model_transfer._fc.weight.detach().clone()
train(3, loaders, model_transfer, optimizer_transfer, criterion_transfer)
