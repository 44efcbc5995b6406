# https://github.com/itayhubara/BinaryNet.pytorch/issues/19
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BinarizeLinear(nn.Linear):
    """Takes the signs of its weights to multiply with, and keeps the real ones beside them."""

    def __init__(self, in_features, out_features, binary_input=True):
        super().__init__(in_features, out_features)
        self.binary_input = binary_input

    def forward(self, input):
        if self.binary_input:
            input = input + (input.sign() - input).detach()
        if not hasattr(self.weight, 'org'):
            self.weight.org = self.weight.data.clone()
        self.weight.data = torch.where(self.weight.org >= 0, 1.0, -1.0)
        return F.linear(input, self.weight, self.bias)


class Net(nn.Module):
    def __init__(self, d_in=24, width=64, classes=3):
        super().__init__()
        self.fc1 = BinarizeLinear(d_in, width, binary_input=False)
        self.bn1, self.htanh1 = nn.BatchNorm1d(width), nn.Hardtanh()
        self.fc2 = BinarizeLinear(width, width)
        self.bn2, self.htanh2 = nn.BatchNorm1d(width), nn.Hardtanh()
        self.fc3 = nn.Linear(width, classes)

    def forward(self, x):
        x = self.htanh1(self.bn1(self.fc1(x)))
        x = self.htanh2(self.bn2(self.fc2(x)))
        return self.fc3(x)


patterns = torch.randn(9, 24).sign()


def draw(n):
    """Three kinds, each of them three patterns that have nothing in common."""
    k = torch.randint(0, 9, (n,))
    return patterns[k] + 0.7 * torch.randn(n, 24), k % 3


# %%
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
losses, seen = [], set()
first_signs = torch.where(model.fc2.weight.detach() >= 0, 1.0, -1.0)

# %%
model.train()
for iteration in range(150):
    x, y = draw(128)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    seen |= set(model.fc2.weight.detach().unique().tolist())
    for p in list(model.parameters()):
        if hasattr(p, 'org'):
            p.data.copy_(p.org)
    optimizer.step()
    for p in list(model.parameters()):
        if hasattr(p, 'org'):
            p.org.copy_(p.data.clamp_(-1, 1))
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    x, y = draw(1000)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
flipped = (model.fc2.weight.detach() != first_signs).float().mean().item()
print(losses[0], losses[-1], accuracy, flipped, seen)
assert seen == {-1.0, 1.0}
assert model.fc2.weight.org.abs().max() <= 1 and flipped > 0.01
assert losses[-1] < 0.3 * losses[0] and accuracy > 0.9
