# https://github.com/KaiyangZhou/mixstyle-release/issues/3
import random
import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)


class MixStyle(nn.Module):
    def __init__(self, p=0.5, alpha=0.3, eps=1e-6):
        super().__init__()
        self.p, self.eps = p, eps
        self.beta = torch.distributions.Beta(alpha, alpha)

    def forward(self, x):
        if not self.training or random.random() > self.p:
            return x
        mu = x.mean(dim=(2, 3), keepdim=True)
        sig = (x.var(dim=(2, 3), keepdim=True) + self.eps).sqrt()
        mu, sig = mu.detach(), sig.detach()
        normed = (x - mu) / sig
        lmda = self.beta.sample((len(x), 1, 1, 1))
        perm = torch.randperm(len(x))
        mixed_mu = lmda * mu + (1 - lmda) * mu[perm]
        mixed_sig = lmda * sig + (1 - lmda) * sig[perm]
        return normed * mixed_sig + mixed_mu


class ResNetish(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(inplace=True))
        self.layer2 = nn.Sequential(nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU(inplace=True))
        self.layer3 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(inplace=True))
        self.mixstyle = MixStyle(p=0.7)
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        x = self.mixstyle(self.layer1(x))
        x = self.mixstyle(self.layer2(x))
        x = self.layer3(x)
        return self.classifier(x.mean((2, 3)))


shapes = torch.zeros(4, 3, 12, 12)
shapes[0, :, 4:8] = 1
shapes[1, :, :, 4:8] = 1
shapes[2, :, ::2, ::2] = 1
shapes[3, :, 3:9, 3:9] = 1


def domain_batch(domain, n=16):
    label = torch.randint(0, 4, (n,))
    tint = torch.tensor([[1., .4, .4], [.4, 1., .4], [.4, .4, 1.]])[domain].view(1, 3, 1, 1)
    return shapes[label] * tint + 0.2 * domain + 0.3 * torch.randn(n, 3, 12, 12), label


# %%
model = ResNetish()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 120)
criterion = nn.CrossEntropyLoss()

# %%
losses = []
model.train()
for step in range(120):
    batches = [domain_batch(domain) for domain in (0, 1)]  # domain 2 is kept for the test
    input = torch.cat([x for x, _ in batches])
    label = torch.cat([y for _, y in batches])
    loss = criterion(model(input), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    x_test, y_test = domain_batch(2, n=200)
    accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
print(losses[0], losses[-1], accuracy)
assert losses[-1] < 0.5 * losses[0] and accuracy > 0.6
assert model.layer1[0].weight.grad.abs().sum() > 0
