# https://github.com/megvii-model/DetNAS/issues/3
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class Supernet(nn.Module):
    """Each layer has four candidates; a path takes one of each."""

    def __init__(self, channels=6, layers=3, n_class=5):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.features = nn.ModuleList([
            nn.ModuleList([nn.Conv2d(channels, channels, k, padding=k // 2) for k in (1, 3, 5, 7)]) for _ in range(layers)])
        self.classifier = nn.Linear(channels, n_class)

    def forward(self, x, rngs):
        x = F.relu(self.stem(x))
        for select_op, layer in zip(rngs, self.features):
            x = x + F.relu(layer[select_op](x))
        return self.classifier(x.mean((2, 3)))


# %%
model = Supernet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=4e-5)
train_loader = [(torch.randn(4, 3, 8, 8), torch.randint(5, (4,))) for _ in range(4)]

# %%
rest_moved = []
for step, (image, target) in enumerate(train_loader):
    rngs = tuple(np.random.randint(4) for _ in range(3))
    logits = model(image, rngs)
    loss = F.cross_entropy(logits, target)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None and p.grad.sum() == 0:
            p.grad = None
    before = {name: p.detach().clone() for name, p in model.features.named_parameters()}
    optimizer.step()
    rest_moved += [name for name, p in model.features.named_parameters()
                   if int(name.split('.')[1]) != rngs[int(name.split('.')[0])] and not torch.equal(before[name], p)]
    print(step, rngs, loss.item())
