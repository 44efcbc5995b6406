# https://github.com/SvenBecker/vscode-pytorch/issues/8
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classifier = nn.Linear(32, 5)

    def forward(self, x):
        return self.classifier(self.features(x))


model = Net()
before = model.features[0].weight.detach().clone()

# %%
for param in model.features.parameters():
    param.require_grad = False

optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
inputs, labels = torch.randn(16, 3, 12, 12), torch.randint(0, 5, (16,))

# %%
for epoch in range(5):
    optimizer.zero_grad()
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
