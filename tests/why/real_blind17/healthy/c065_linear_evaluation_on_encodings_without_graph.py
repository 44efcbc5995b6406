# https://github.com/ae-foster/pytorch-simclr/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, d_in=16, representation_dim=32):
        super().__init__()
        self.representation_dim = representation_dim
        self.layers = nn.Sequential(nn.Linear(d_in, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, representation_dim))

    def forward(self, x):
        return self.layers(x)


class LinearCritic(nn.Module):
    def __init__(self, latent_dim, temperature=0.5, projection_dim=16):
        super().__init__()
        self.temperature = temperature
        self.w1 = nn.Linear(latent_dim, latent_dim, bias=False)
        self.w2 = nn.Linear(latent_dim, projection_dim, bias=False)

    def project(self, h):
        return F.normalize(self.w2(F.relu(self.w1(h))), dim=1)

    def forward(self, h1, h2):
        z1, z2 = self.project(h1), self.project(h2)
        sim11, sim22, sim12 = (a @ b.t() / self.temperature for a, b in ((z1, z1), (z2, z2), (z1, z2)))
        d = sim12.shape[-1]
        sim11[..., range(d), range(d)] = float('-inf')
        sim22[..., range(d), range(d)] = float('-inf')
        raw_scores1 = torch.cat([sim12, sim11], dim=-1)
        raw_scores2 = torch.cat([sim22, sim12.transpose(-1, -2)], dim=-1)
        raw_scores = torch.cat([raw_scores1, raw_scores2], dim=-2)
        return raw_scores, torch.arange(2 * d, dtype=torch.long)


def encode_train_set(clftrainloader, net):
    net.eval()
    store = []
    with torch.no_grad():
        for inputs, targets in clftrainloader:
            store.append((net(inputs), targets))
    X, y = zip(*store)
    return torch.cat(X, dim=0), torch.cat(y, dim=0)


def train_clf(X, y, representation_dim, num_classes, reg_weight=1e-3):
    criterion = nn.CrossEntropyLoss()
    clf = nn.Linear(representation_dim, num_classes)
    clf.train()
    clf_optimizer = optim.LBFGS(clf.parameters(), lr=0.1)
    for i in range(20):
        def closure():
            clf_optimizer.zero_grad()
            raw_scores = clf(X)
            loss = criterion(raw_scores, y)
            loss += reg_weight * clf.weight.pow(2).sum()
            loss.backward()
            return loss

        clf_optimizer.step(closure)
    return clf


def test(testloader, net, clf):
    net.eval()
    clf.eval()
    with torch.no_grad():
        hits = [(clf(net(x)).argmax(1) == y).float() for x, y in testloader]
    return torch.cat(hits).mean().item()


centers = 1.2 * torch.randn(5, 16)


def draw(n):
    y = torch.randint(0, 5, (n,))
    return centers[y] + 0.6 * torch.randn(n, 16), y


def augment(x):
    return x + 0.5 * torch.randn_like(x)


# %%
clftrainloader = [draw(100) for _ in range(4)]
testloader = [draw(200) for _ in range(2)]
net, criterion = Net(), nn.CrossEntropyLoss()
critic = LinearCritic(net.representation_dim)
encoder_optimizer = optim.SGD(list(net.parameters()) + list(critic.parameters()), lr=0.1, momentum=0.9, weight_decay=1e-6)
accuracies, touched, losses = [], [], []

# %%
for epoch in range(6):
    net.train()
    critic.train()
    for _ in range(15):
        x, _ = draw(96)
        encoder_optimizer.zero_grad()
        raw_scores, pseudotargets = critic(net(augment(x)), net(augment(x)))
        loss = criterion(raw_scores, pseudotargets)
        loss.backward()
        encoder_optimizer.step()
        losses.append(loss.item())
    grads = [p.grad.clone() for p in net.parameters()]
    X, y = encode_train_set(clftrainloader, net)
    clf = train_clf(X, y, net.representation_dim, 5)
    touched.append(any(not torch.equal(a, p.grad) for a, p in zip(grads, net.parameters())))
    accuracies.append(test(testloader, net, clf))

# %%
print(losses[0], losses[-1], accuracies, touched, X.requires_grad)
assert not any(touched) and not X.requires_grad
assert accuracies[-1] > 0.9 and losses[-1] < losses[0]
