# https://github.com/rollovd/LookSAM/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LookSAM(torch.optim.Optimizer):
    """Sharpness-aware every k steps; between them the direction that was found is used again."""

    def __init__(self, k, alpha, model, base_optimizer, criterion, rho=0.05, **kwargs):
        super().__init__(model.parameters(), dict(rho=rho, **kwargs))
        self.k, self.alpha, self.model, self.criterion = k, alpha, model, criterion
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)

    @staticmethod
    def normalized(g):
        return g / g.norm(p=2)

    def with_grad(self):
        return [p for group in self.param_groups for p in group['params'] if p.grad is not None]

    def look(self, samples, targets):
        params = self.with_grad()
        first = [p.grad.clone() for p in params]
        before = [p.detach().clone() for p in params]
        length = torch.stack([g.norm() for g in first]).norm()
        with torch.no_grad():
            for p, g in zip(params, first):
                p += self.param_groups[0]['rho'] * g / (length + 1e-8)
        self.zero_grad()
        self.criterion(self.model(samples), targets).backward()
        with torch.no_grad():
            for p, g, old in zip(params, first, before):
                p.copy_(old)
                along = self.normalized(g)
                cosine = (along * self.normalized(p.grad)).sum()
                self.state[p]['gv'] = p.grad - p.grad.norm() * cosine * along

    def reuse(self):
        for p in self.with_grad():
            gv = self.state[p]['gv']
            p.grad += self.alpha * p.grad.norm() / (gv.norm() + 1e-8) * gv

    def step(self, t, samples, targets):
        if t % self.k == 0:
            self.look(samples, targets)
        else:
            self.reuse()
        self.base_optimizer.step()
        self.zero_grad()


class BasicBlock(nn.Module):
    def __init__(self, planes):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        nn.init.constant_(self.bn2.weight, 0)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + x)


# %%
model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), BasicBlock(8),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
criterion = nn.CrossEntropyLoss()
optimizer = LookSAM(k=5, alpha=0.7, model=model, base_optimizer=torch.optim.SGD, criterion=criterion, lr=0.05)
prototypes = torch.randn(5, 3, 12, 12)

# %%
history = []
for train_index in range(12):
    targets = torch.randint(0, 5, (16,))
    samples = prototypes[targets] + 0.3 * torch.randn(16, 3, 12, 12)
    loss = criterion(model(samples), targets)
    loss.backward()
    optimizer.step(t=train_index, samples=samples, targets=targets)
    history.append(loss.item())
print(history)
