# The attack runs in eval mode and puts the mode back: only the steps train, in train mode.
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
clf = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
opt = torch.optim.SGD(clf.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [2, 4], 0.1)
X, Y = torch.randn(96, 10), torch.randint(4, (96,))


def pgd(model, x, y, eps=0.3, alpha=0.1, steps=3):
    was = model.training
    model.eval()
    delta = torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        delta.requires_grad_(True)
        loss = F.cross_entropy(model(x + delta), y)
        g, = torch.autograd.grad(loss, [delta])
        delta = (delta.detach() + alpha * g.sign()).clamp(-eps, eps)
    model.train(was)
    return (x + delta).detach()


# %%
for epoch in range(3):
    clf.train()
    total = 0.0
    for i in torch.randperm(96).split(32):
        x_adv = pgd(clf, X[i], Y[i])
        logits = clf(torch.cat([X[i], x_adv]))
        clean, robust = logits.chunk(2)
        loss = 0.5 * F.cross_entropy(clean, Y[i]) + 0.5 * F.cross_entropy(robust, Y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(i)
    sched.step()
    clf.eval()
    x_adv = pgd(clf, X[:32], Y[:32])
    with torch.no_grad():
        acc = (clf(x_adv).argmax(1) == Y[:32]).float().mean().item()
    print(epoch, total / 96, acc)

assert clf[1].num_batches_tracked == 9
