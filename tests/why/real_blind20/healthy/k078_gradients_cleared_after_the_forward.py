# https://github.com/thuml/Transfer-Learning-Library/issues/12
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.optim import SGD

torch.manual_seed(0)


class GradientReverseFunction(Function):
    @staticmethod
    def forward(ctx, input, coeff=1.):
        ctx.coeff = coeff
        output = input * 1.0
        return output

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.coeff, None


class WarmStartGradientReverseLayer(nn.Module):
    def __init__(self, alpha=1.0, lo=0.0, hi=1., max_iters=1000, auto_step=False):
        super(WarmStartGradientReverseLayer, self).__init__()
        self.alpha, self.lo, self.hi, self.max_iters, self.auto_step = alpha, lo, hi, max_iters, auto_step
        self.iter_num = 0

    def forward(self, input):
        coeff = float(2.0 * (self.hi - self.lo) / (1.0 + math.exp(-self.alpha * self.iter_num / self.max_iters)) - (self.hi - self.lo) + self.lo)
        if self.auto_step:
            self.iter_num += 1
        return GradientReverseFunction.apply(input, coeff)


class DomainAdversarialLoss(nn.Module):
    def __init__(self, domain_discriminator):
        super(DomainAdversarialLoss, self).__init__()
        self.grl = WarmStartGradientReverseLayer(alpha=1., lo=0., hi=1., max_iters=50, auto_step=True)
        self.domain_discriminator = domain_discriminator
        self.bce = nn.BCELoss(reduction='mean')
        self.domain_discriminator_accuracy = None

    def forward(self, f_s, f_t):
        f = self.grl(torch.cat((f_s, f_t), dim=0))
        d = self.domain_discriminator(f)
        d_s, d_t = d.chunk(2, dim=0)
        d_label_s = torch.ones((f_s.size(0), 1)).to(f_s.device)
        d_label_t = torch.zeros((f_t.size(0), 1)).to(f_t.device)
        self.domain_discriminator_accuracy = 0.5 * ((d_s > 0.5).float().mean() + (d_t <= 0.5).float().mean())
        return 0.5 * (self.bce(d_s, d_label_s) + self.bce(d_t, d_label_t))


class ImageClassifier(nn.Module):
    def __init__(self, backbone, num_classes, bottleneck_dim=16):
        super(ImageClassifier, self).__init__()
        self.backbone = backbone
        self.bottleneck = nn.Sequential(nn.Linear(32, bottleneck_dim), nn.BatchNorm1d(bottleneck_dim), nn.ReLU())
        self.head = nn.Linear(bottleneck_dim, num_classes)

    def forward(self, x):
        f = self.bottleneck(self.backbone(x))
        return self.head(f), f

    def get_parameters(self):
        return [{"params": self.backbone.parameters(), "lr_mult": 0.1}, {"params": self.bottleneck.parameters(), "lr_mult": 1.}, {"params": self.head.parameters(), "lr_mult": 1.}]


class StepwiseLR:
    def __init__(self, optimizer, init_lr=0.01, gamma=0.001, decay_rate=0.75):
        self.init_lr, self.gamma, self.decay_rate, self.optimizer, self.iter_num = init_lr, gamma, decay_rate, optimizer, 0

    def step(self):
        lr = self.init_lr * (1 + self.gamma * self.iter_num) ** (-self.decay_rate)
        for param_group in self.optimizer.param_groups:
            param_group['lr'] = lr * param_group.get('lr_mult', 1.)
        self.iter_num += 1


# %%
args = argparse.Namespace(lr=0.1, momentum=0.9, weight_decay=1e-3, trade_off=1., iters_per_epoch=150, batch_size=32)
means = 2 * torch.randn(3, 10)
shift = torch.zeros(10)
shift[:3] = 2.0


def domain(n, moved):
    labels = torch.randint(0, 3, (n,))
    return means[labels] + torch.randn(n, 10) + moved * shift, labels


classifier = ImageClassifier(nn.Sequential(nn.Linear(10, 32), nn.ReLU()), 3)
domain_discri = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
optimizer = SGD(classifier.get_parameters() + [{"params": domain_discri.parameters(), "lr_mult": 1.}],
                args.lr, momentum=args.momentum, weight_decay=args.weight_decay, nesterov=True)
lr_scheduler = StepwiseLR(optimizer, init_lr=args.lr, gamma=0.001, decay_rate=0.75)
domain_adv = DomainAdversarialLoss(domain_discri)

# %%
classifier.train()
domain_adv.train()
losses = []
for i in range(args.iters_per_epoch):
    lr_scheduler.step()
    x_s, labels_s = domain(args.batch_size, 0)
    x_t, _ = domain(args.batch_size, 1)

    # compute output
    x = torch.cat((x_s, x_t), dim=0)
    y, f = classifier(x)
    y_s, y_t = y.chunk(2, dim=0)
    f_s, f_t = f.chunk(2, dim=0)

    cls_loss = F.cross_entropy(y_s, labels_s)
    transfer_loss = domain_adv(f_s, f_t)
    loss = cls_loss + transfer_loss * args.trade_off
    losses.append(cls_loss.item())

    # compute gradient and do SGD step
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
expected = torch.autograd.grad(F.cross_entropy(classifier(x_s)[0], labels_s), list(classifier.head.parameters()))
kept = F.cross_entropy(classifier(x_s)[0], labels_s)
optimizer.zero_grad()
kept.backward()
same = all(torch.allclose(p.grad, g, atol=1e-6) for p, g in zip(classifier.head.parameters(), expected))
classifier.eval()
with torch.no_grad():
    x_t, labels_t = domain(400, 1)
    accuracy = (classifier(x_t)[0].argmax(1) == labels_t).float().mean().item()
print(losses[0], losses[-1], domain_adv.domain_discriminator_accuracy.item(), accuracy, same)
assert same and accuracy > 0.85 and losses[-1] < 0.3 * losses[0]
