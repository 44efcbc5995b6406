# https://github.com/P2333/Bag-of-Tricks-for-AT/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
lower_limit, upper_limit = torch.tensor(0.0), torch.tensor(1.0)


class PreActNet(nn.Module):
    def __init__(self, width=12, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, stride=2, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.linear = nn.Linear(width * 9, num_classes)

    def forward(self, x):
        out = self.conv1(x)
        out = self.conv2(F.relu(self.bn1(out)))
        return self.linear(F.relu(self.bn2(out)).flatten(1))


def clamp(X, lower, upper):
    return torch.max(torch.min(X, upper), lower)


def attack_pgd(model, X, y, epsilon, alpha, attack_iters):
    delta = torch.zeros_like(X).uniform_(-epsilon, epsilon)
    delta = clamp(delta, lower_limit - X, upper_limit - X)
    delta.requires_grad = True
    for _ in range(attack_iters):
        output = model(X + delta)
        loss = F.cross_entropy(output, y)
        loss.backward()
        grad = delta.grad.detach()
        d = torch.clamp(delta + alpha * torch.sign(grad), min=-epsilon, max=epsilon)
        delta.data = clamp(d, lower_limit - X, upper_limit - X).data
        delta.grad.zero_()
    return delta.detach()


def batch(n=64):
    y = torch.randint(0, 3, (n,))
    X = 0.3 + 0.1 * torch.rand(n, 1, 6, 6)
    for i, k in enumerate(y.tolist()):
        at = int(torch.randint(0, 6, (1,)))
        if k == 0:
            X[i, 0, at, :] += 0.5
        elif k == 1:
            X[i, 0, :, at] += 0.5
        else:
            X[i, 0].diagonal().add_(0.5)
    return X.clamp(0, 1), y


def accuracy(model, epsilon):
    X, y = batch(300)
    delta = attack_pgd(model, X, y, epsilon, epsilon / 4, 10)
    with torch.no_grad():
        return (model(X + delta).argmax(1) == y).float().mean().item()


# %%
epsilon, pgd_alpha = 0.08, 0.02
model = PreActNet()
model.train()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
train_loss, left_over = [], []

# %%
for i in range(150):
    X, y = batch()
    lr = 0.1 if i < 110 else 0.01
    opt.param_groups[0].update(lr=lr)
    delta = attack_pgd(model, X, y, epsilon, pgd_alpha, attack_iters=5)
    left_over.append(model.linear.weight.grad.abs().max().item())
    robust_output = model(X + delta)
    robust_loss = F.cross_entropy(robust_output, y)
    opt.zero_grad()
    robust_loss.backward()
    opt.step()
    train_loss.append(robust_loss.item())

# %%
X, y = batch()
opt.zero_grad()
F.cross_entropy(model(X), y).backward()
clean_grad = model.linear.weight.grad.clone()
attack_pgd(model, X, y, epsilon, pgd_alpha, 3)
opt.zero_grad()
F.cross_entropy(model(X), y).backward()
same = torch.allclose(model.linear.weight.grad, clean_grad, atol=1e-6)
model.eval()
clean, robust = accuracy(model, 0.0), accuracy(model, epsilon)
print(train_loss[0], train_loss[-1], clean, robust, max(left_over))
assert max(left_over) > 0 and same
assert clean > 0.95 and robust > 0.85
