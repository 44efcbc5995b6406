# https://github.com/meta-pytorch/opacus/issues/432
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class ModuleValidator:
    @classmethod
    def fix(cls, module):
        """Replace what does not go with private training: BatchNorm by GroupNorm."""
        for name, child in module.named_children():
            if isinstance(child, (nn.BatchNorm1d, nn.BatchNorm2d)):
                setattr(module, name, nn.GroupNorm(min(4, child.num_features), child.num_features))
            else:
                cls.fix(child)
        return module


class BasicBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(ch)

    def forward(self, x):
        return torch.relu(x + self.bn1(self.conv1(x)))


class Net(nn.Module):
    def __init__(self, ch=8, classes=5):
        super().__init__()
        self.conv = nn.Conv2d(3, ch, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(ch)
        self.block = BasicBlock(ch)
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.fc(self.block(x).mean((2, 3)))


# %%
model = Net()
optimizer = optim.SGD(model.parameters(), lr=0.1)
model = ModuleValidator.fix(model)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(16, 3, 8, 8), torch.randint(0, 5, (16,))

# %%
for epoch in range(5):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
print(model.bn, model.bn.weight)
