# https://github.com/SSL92/hyperIQA/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HyperNet(nn.Module):
    """Looks at a picture and writes the weights of the small network that shall judge it."""

    def __init__(self, target_in=8, f1=12):
        super().__init__()
        self.target_in, self.f1 = target_in, f1
        self.res = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.vec = nn.Linear(16, target_in)
        self.fc1w, self.fc1b = nn.Linear(16, target_in * f1), nn.Linear(16, f1)
        self.fc2w, self.fc2b = nn.Linear(16, f1), nn.Linear(16, 1)

    def forward(self, img):
        feature = self.res(img).mean((2, 3))
        b = len(img)
        return {
            'target_in_vec': torch.sigmoid(self.vec(feature)),
            'target_fc1w': self.fc1w(feature).view(b, self.f1, self.target_in),
            'target_fc1b': self.fc1b(feature),
            'target_fc2w': self.fc2w(feature).view(b, 1, self.f1),
            'target_fc2b': self.fc2b(feature),
        }


class TargetNet(nn.Module):
    def __init__(self, paras):
        super().__init__()
        self.paras = paras

    def forward(self, x):
        p = self.paras
        q = torch.bmm(p['target_fc1w'], x.unsqueeze(2)).squeeze(2) + p['target_fc1b']
        q = torch.sigmoid(q)
        return (torch.bmm(p['target_fc2w'], q.unsqueeze(2)).squeeze(2) + p['target_fc2b']).squeeze(1)


def distorted(n):
    """Smooth pictures under noise; the score says how little of it there is."""
    coarse = torch.randn(n, 1, 3, 3)
    clean = F.interpolate(coarse, size=12, mode='bilinear', align_corners=True)
    strength = torch.rand(n)
    return clean + strength.view(-1, 1, 1, 1) * torch.randn(n, 1, 12, 12), 10 * (1 - strength)


def srcc(a, b):
    ranks = torch.stack([a.argsort().argsort(), b.argsort().argsort()]).float()
    return torch.corrcoef(ranks)[0, 1].item()


class HyperIQASolver:
    def __init__(self, lr=1e-3, lr_ratio=3):
        self.model_hyper = HyperNet()
        self.l1_loss = nn.L1Loss()
        backbone = list(map(id, self.model_hyper.res.parameters()))
        self.hypernet_params = [p for p in self.model_hyper.parameters() if id(p) not in backbone]
        self.solver = torch.optim.Adam([
            {'params': self.hypernet_params, 'lr': lr * lr_ratio},
            {'params': self.model_hyper.res.parameters(), 'lr': lr},
        ], weight_decay=5e-4)
        self.in_target = []

    def train_step(self, img, label):
        self.solver.zero_grad()
        paras = self.model_hyper(img)
        model_target = TargetNet(paras)
        for param in model_target.parameters():
            param.requires_grad = False
        self.in_target.append(len(list(model_target.parameters())))
        pred = model_target(paras['target_in_vec'])
        loss = self.l1_loss(pred, label)
        loss.backward()
        self.solver.step()
        return loss.item()

    @torch.no_grad()
    def test(self, img, label):
        paras = self.model_hyper(img)
        return srcc(TargetNet(paras)(paras['target_in_vec']), label)


# %%
solver = HyperIQASolver()
before = [p.detach().clone() for p in solver.hypernet_params]
losses = [solver.train_step(*distorted(64)) for _ in range(250)]

# %%
score = solver.test(*distorted(500))
print(losses[0], losses[-1], score)
assert set(solver.in_target) == {0}
assert all(not torch.equal(a, b) for a, b in zip(before, solver.hypernet_params))
assert all(p.grad is not None for p in solver.model_hyper.parameters())
assert losses[-1] < 0.4 * losses[0] and score > 0.9
