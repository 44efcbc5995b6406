# https://github.com/microsoft/nni/issues/4521
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


class L1FilterPruner:
    """Masks the filters of conv1 with the smallest L1 norm."""

    def __init__(self, model, sparsity):
        self.model, self.sparsity = model, sparsity

    def compress(self):
        norms = self.model.conv1.weight.abs().sum((1, 2, 3))
        keep = norms.argsort(descending=True)[: int(len(norms) * (1 - self.sparsity))]
        return {'conv1': keep.sort().values}


class ModelSpeedup:
    def __init__(self, model, masks):
        self.bound_model, self.masks = model, masks

    def speedup_model(self):
        keep = self.masks['conv1']
        old1, old2 = self.bound_model.conv1, self.bound_model.conv2
        new1 = nn.Conv2d(1, len(keep), 3, padding=1)
        new1.weight.data.copy_(old1.weight.data[keep])
        new1.bias.data.copy_(old1.bias.data[keep])
        new2 = nn.Conv2d(len(keep), 8, 3, padding=1)
        new2.weight.data.copy_(old2.weight.data[:, keep])
        new2.bias.data.copy_(old2.bias.data)
        self.bound_model.conv1, self.bound_model.conv2 = new1, new2


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    return loss.item()


# %%
loader = [(torch.randn(16, 1, 8, 8), torch.randint(10, (16,))) for _ in range(4)]
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(2):
    print('pretrain', train(model, loader, optimizer))

masks = L1FilterPruner(model, 0.5).compress()
m_speedup = ModelSpeedup(model, masks)
m_speedup.speedup_model()

# %%
# finetune the pruned model
w = model.conv2.weight.detach().clone()
for epoch in range(3):
    print('finetune', train(model, loader, optimizer))
print((model.conv2.weight - w).abs().max())
