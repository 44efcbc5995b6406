# https://github.com/locuslab/convex_adversarial/issues/34
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

torch.manual_seed(0)


def mnist_model():
    return nn.Sequential(nn.Conv2d(1, 4, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, 20), nn.ReLU(),
                         nn.Linear(20, 10))


# ---- attacks.py
def _pgd(model, X, y, epsilon, niters=5, alpha=0.01):
    out = model(X)
    ce = nn.CrossEntropyLoss()(out, y)
    err = (out.data.max(1)[1] != y.data).float().sum() / X.size(0)

    X_pgd = Variable(X.data, requires_grad=True)
    for i in range(niters):
        opt = optim.Adam([X_pgd], lr=1e-3)
        opt.zero_grad()
        loss = nn.CrossEntropyLoss()(model(X_pgd), y)
        loss.backward()
        eta = alpha * X_pgd.grad.data.sign()
        X_pgd = Variable(X_pgd.data + eta, requires_grad=True)

        # adjust to be within [-epsilon, epsilon]
        eta = torch.clamp(X_pgd.data - X.data, -epsilon, epsilon)
        X_pgd = Variable(X.data + eta, requires_grad=True)

    err_pgd = (model(X_pgd).data.max(1)[1] != y.data).float().sum() / X.size(0)
    return err, err_pgd


# ---- trainer.py
def train_baseline(loader, model, opt):
    model.train()
    for i, (X, y) in enumerate(loader):
        out = model(Variable(X))
        ce = nn.CrossEntropyLoss()(out, Variable(y))
        opt.zero_grad()
        ce.backward()
        opt.step()


def evaluate_robust(loader, model, epsilon, epoch):
    model.eval()
    torch.set_grad_enabled(False)
    errors = []
    for i, (X, y) in enumerate(loader):
        out = model(Variable(X))
        ce = nn.CrossEntropyLoss()(out, Variable(y))
        err = (out.max(1)[1] != y).float().sum() / X.size(0)

        _, pgd_err = _pgd(model, Variable(X), Variable(y), epsilon)

        print(epoch, i, ce.item(), err.item(), pgd_err.item())
        errors.append(pgd_err)
    torch.set_grad_enabled(True)
    return sum(errors) / len(errors)


# %%
model = mnist_model()
opt = optim.Adam(model.parameters(), lr=1e-3)
train_loader = [(torch.rand(16, 1, 8, 8), torch.randint(10, (16,))) for _ in range(3)]
test_loader = [(torch.rand(16, 1, 8, 8), torch.randint(10, (16,)))]

# %%
for t in range(2):
    train_baseline(train_loader, model, opt)
    err = evaluate_robust(test_loader, model, 0.1, t)
