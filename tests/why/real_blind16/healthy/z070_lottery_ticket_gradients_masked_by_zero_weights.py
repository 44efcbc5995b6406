# https://github.com/Eric-mingjie/rethinking-network-pruning/issues/23
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 24, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(24)
        self.fc = nn.Linear(24, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def pictures(n):
    """A line that lies, one that stands, or one aslant, on noise."""
    x, y = 0.3 * torch.randn(n, 1, 10, 10), torch.randint(0, 3, (n,))
    for picture, kind in zip(x, y):
        k = int(torch.randint(1, 9, (1,)))
        if kind == 0:
            picture[0, k] += 1
        elif kind == 1:
            picture[0, :, k] += 1
        else:
            picture[0] += torch.roll(torch.eye(10), k, 0)
    return x, y


def convs(model):
    return [m for m in model.modules() if isinstance(m, nn.Conv2d)]


def train(model, steps, masked):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for _ in range(steps):
        inputs, targets = pictures(64)
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        if masked:
            for m in convs(model):
                mask = m.weight.data.abs().clone().gt(0).float()
                m.weight.grad.data.mul_(mask)
        optimizer.step()
    return loss.item()


def test(model):
    model.eval()
    with torch.no_grad():
        inputs, targets = pictures(500)
        return (model(inputs).argmax(1) == targets).float().mean().item()


def zeros(model):
    return [int((m.weight == 0).sum()) for m in convs(model)]


# %%
model = Net()
initial = copy.deepcopy(model.state_dict())
train(model, 100, masked=False)
dense_accuracy = test(model)

# %%
ranked = torch.cat([m.weight.data.abs().flatten() for m in convs(model)]).sort().values
threshold = ranked[int(0.7 * len(ranked))]
masks = [m.weight.data.abs().gt(threshold).float() for m in convs(model)]

# %%
ticket = Net()
ticket.load_state_dict(initial)
for m, mask in zip(convs(ticket), masks):
    m.weight.data.mul_(mask)
zeros_before = zeros(ticket)
start = [m.weight.detach().clone() for m in convs(ticket)]
loss = train(ticket, 150, masked=True)
ticket_accuracy = test(ticket)

# %%
print(dense_accuracy, ticket_accuracy, zeros_before, zeros(ticket), len(ranked))
assert sum(zeros_before) == int(0.7 * len(ranked)) + 1
assert zeros(ticket) == zeros_before
assert all((m.weight != s)[mask.bool()].float().mean() > 0.99 for m, s, mask in zip(convs(ticket), start, masks))
assert dense_accuracy > 0.9 and ticket_accuracy > 0.9
