# https://github.com/mrdbourke/pytorch-deep-learning/issues/1168
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ConvModel(nn.Module):
    def __init__(self, input_shape: int, hidden_units: int, output_shape: int):
        super().__init__()
        self.conv_block_1 = self.block(input_shape, hidden_units)
        self.conv_block_2 = self.block(hidden_units, hidden_units)
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden_units * 3 * 3, output_shape))

    def block(self, channels, hidden_units):
        return nn.Sequential(
            nn.Conv2d(channels, hidden_units, kernel_size=3, stride=1, padding=1), nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, stride=1, padding=1), nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2))

    def forward(self, x):
        return self.classifier(self.conv_block_2(self.conv_block_1(x)))


def accuracy_fn(y_true, y_pred):
    return (y_true == y_pred).float().mean().item() * 100


def train_step(model, data_loader, loss_fn, optimizer, accuracy_fn):
    train_loss, train_acc = 0, 0
    model.train()
    for X, y in data_loader:
        y_pred = model(X)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        train_acc += accuracy_fn(y_true=y, y_pred=y_pred.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return train_loss / len(data_loader), train_acc / len(data_loader)


# %%
patterns = torch.randn(10, 1, 12, 12)
labels = torch.randint(0, 10, (320,))
images = patterns[labels] + 0.2 * torch.randn(320, 1, 12, 12)
train_dataloader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

# %%
model_2 = ConvModel(input_shape=1, hidden_units=10, output_shape=10)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(params=model_2.parameters(), lr=0.1)

# %%
torch.manual_seed(42)
dummy = torch.randn(1, 1, 12, 12)
model_2 = ConvModel(input_shape=1, hidden_units=10, output_shape=10)
print(model_2(dummy).shape)

# %%
accuracies = []
for epoch in range(15):
    train_loss, train_acc = train_step(model_2, train_dataloader, loss_fn, optimizer, accuracy_fn)
    accuracies.append(train_acc)
    print(f"epoch {epoch} train loss {train_loss:.4f} train accuracy {train_acc:.2f}%")
