# https://github.com/Eric-mingjie/rethinking-network-pruning/issues/13
import torch
import torch.nn as nn

torch.manual_seed(0)


class VGGish(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.AvgPool2d(4))
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def get_conv_zero_param(model):
    return sum(int(torch.sum(m.weight.data.eq(0))) for m in model.modules() if isinstance(m, nn.Conv2d))


def prune(model, percent):
    """sets the smallest weights of the convolutions to zero"""
    weights = torch.cat([m.weight.data.abs().flatten() for m in model.modules() if isinstance(m, nn.Conv2d)])
    threshold = torch.sort(weights)[0][int(len(weights) * percent)]
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            mask = m.weight.data.abs().gt(threshold).float()
            m.weight.data.mul_(mask)


def train(model, optimizer, batches, finetune):
    model.train()
    criterion, losses = nn.CrossEntropyLoss(), []
    for inputs, targets in batches:
        loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        if finetune:
            for m in model.modules():
                if isinstance(m, nn.Conv2d):
                    mask = m.weight.data.abs().gt(0).float()
                    m.weight.grad.data.mul_(mask)
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def test(model, inputs, targets):
    model.eval()
    return (model(inputs).argmax(1) == targets).float().mean().item()


# %%
means = torch.randn(5, 3, 2, 2).repeat_interleave(4, 2).repeat_interleave(4, 3)


def draw(n):
    targets = torch.randint(0, 5, (n,))
    return means[targets] + 2.0 * torch.randn(n, 3, 8, 8), targets


model = VGGish()
losses = train(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4),
               [draw(32) for _ in range(60)], finetune=False)
accuracy_before = test(model, *draw(400))

# %%
prune(model, percent=0.95)
zeros_before = get_conv_zero_param(model)
accuracy_pruned = test(model, *draw(400))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
fine = train(model, optimizer, [draw(32) for _ in range(60)], finetune=True)
zeros_after = get_conv_zero_param(model)
accuracy_after = test(model, *draw(400))
print(zeros_before, zeros_after, accuracy_before, accuracy_pruned, accuracy_after)
assert zeros_after == zeros_before
assert accuracy_after > accuracy_pruned and accuracy_after > 0.8
