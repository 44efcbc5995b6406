# https://github.com/meta-pytorch/opacus/issues/93
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SampleConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean((2, 3)))


class PrivateSGD(torch.optim.SGD):
    """step() takes the clipped sum of a virtual batch; virtual_step() keeps the gradients for it."""

    def virtual_step(self):
        for group in self.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)


def train(model, train_loader, optimizer, n_accumulation_steps):
    seen = 0
    for i, (images, target) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), target)
        loss.backward()
        seen += len(images)
        if (i + 1) % n_accumulation_steps == 0 or i + 1 == len(train_loader):
            optimizer.step()
            last_seen, seen = seen, 0
        else:
            optimizer.virtual_step()
    return last_seen, images, target


# %%
model = SampleConvNet()
loader = [(torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))) for _ in range(8)]
optimizer = PrivateSGD(model.parameters(), lr=0.0)  # a dry run: only the gradients are looked at
last_seen, images, target = train(model, loader, optimizer, n_accumulation_steps=4)
of_the_last = torch.autograd.grad(F.cross_entropy(model(images), target), model.fc.weight)[0]
print(last_seen, model.fc.weight.grad.norm().item(), of_the_last.norm().item())
