# https://discuss.pytorch.org/t/amp-on-cpu-no-gradscaler-necessary-available/191857
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.2)
        self.fc1 = nn.Linear(32 * 9, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.norm(self.conv2(x))), 2)
        x = self.dropout(x.flatten(1))
        return self.fc2(F.relu(self.fc1(x)))


def shapes(n):
    """A frame, a cross, a disc or a diagonal, anywhere."""
    x, y = 0.2 * torch.randn(n, 1, 12, 12), torch.randint(0, 4, (n,))
    r = torch.arange(6) - 2.5
    patterns = torch.zeros(4, 6, 6)
    patterns[0, [0, -1]], patterns[0, :, [0, -1]] = 1, 1
    patterns[1, 2:4], patterns[1, :, 2:4] = 1, 1
    patterns[2] = ((r[:, None] ** 2 + r[None] ** 2) < 7).float()
    patterns[3] = torch.eye(6) + torch.diag(torch.ones(5), 1)
    for picture, kind in zip(x, y):
        i, j = torch.randint(0, 7, (2,)).tolist()
        picture[0, i : i + 6, j : j + 6] += patterns[kind]
    return x, y


# %%
model = Net()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(*shapes(1536)), batch_size=64, shuffle=True)
history, dtypes = [], set()

# %%
for epoch in range(6):
    model.train()
    running = 0.0
    for input, target in loader:
        optimizer.zero_grad()
        with torch.autocast(device_type='cpu', dtype=torch.bfloat16):
            output = model(input)
            loss = loss_fn(output, target)
        loss.backward()
        optimizer.step()
        running += loss.item()
        dtypes.add((output.dtype, loss.dtype))
    history.append(running / len(loader))

# %%
model.eval()
x, y = shapes(500)
with torch.no_grad(), torch.autocast(device_type='cpu', dtype=torch.bfloat16):
    accuracy = (model(x).argmax(1) == y).float().mean().item()
wide = torch.autograd.grad(loss_fn(model(x), y), list(model.parameters()))
with torch.autocast(device_type='cpu', dtype=torch.bfloat16):
    narrow_loss = loss_fn(model(x), y) * 1e-12
# a loss so small would be gone in float16; the exponents of bfloat16 are those of float32
narrow = torch.autograd.grad(narrow_loss, list(model.parameters()))
cosines = [F.cosine_similarity(a.flatten(), b.flatten() * 1e12, dim=0).item() for a, b in zip(wide, narrow)]
print(history, accuracy, cosines, dtypes)
assert all(p.dtype == torch.float32 and p.grad.dtype == torch.float32 for p in model.parameters())
assert dtypes == {(torch.bfloat16, torch.float32)}
assert all((g != 0).any() for g in narrow) and min(cosines) > 0.6
assert history[-1] < 0.3 * history[0] and accuracy > 0.9
