# https://github.com/filipradenovic/cnnimageretrieval-pytorch/issues/20
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

torch.manual_seed(0)


class GeM(nn.Module):
    def __init__(self, p=3, eps=1e-6):
        super(GeM, self).__init__()
        self.p = Parameter(torch.ones(1) * p)
        self.eps = eps

    def forward(self, x):
        return F.avg_pool2d(x.clamp(min=self.eps).pow(self.p), (x.size(-2), x.size(-1))).pow(1. / self.p)


class ImageRetrievalNet(nn.Module):
    def __init__(self, features, pool, meta):
        super(ImageRetrievalNet, self).__init__()
        self.features = nn.Sequential(*features)
        self.pool = pool
        self.meta = meta

    def forward(self, x):
        o = self.features(x)
        o = self.pool(o)
        o = o / (torch.norm(o, p=2, dim=1, keepdim=True) + 1e-6).expand_as(o)
        return o.squeeze(-1).squeeze(-1).permute(1, 0)  # D x 1


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=0.7, eps=1e-6):
        super(ContrastiveLoss, self).__init__()
        self.margin = margin
        self.eps = eps

    def forward(self, x, label):
        # x is D x N
        dim = x.size(0)  # D
        nq = torch.sum(label.data == -1)  # number of tuples
        S = x.size(1) // nq  # number of images per tuple including query: 1+1+n

        x1 = x[:, ::S].permute(1, 0).repeat(1, S - 1).view((S - 1) * nq, dim).permute(1, 0)
        idx = [i for i in range(len(label)) if label.data[i] != -1]
        x2 = x[:, idx]
        lbl = label[label != -1]

        dif = x1 - x2
        D = torch.pow(dif + self.eps, 2).sum(dim=0).sqrt()

        y = 0.5 * lbl * torch.pow(D, 2) + 0.5 * (1 - lbl) * torch.pow(torch.clamp(self.margin - D, min=0), 2)
        return torch.sum(y)


def set_batchnorm_eval(m):
    classname = m.__class__.__name__
    if classname.find('BatchNorm') != -1:
        # freeze running mean and std
        m.eval()


places = torch.rand(12, 1, 10, 10)


def photo(i):
    return (places[i] + 0.35 * torch.randn(1, 10, 10)).unsqueeze(0)


def create_tuples(n, neg_num=3):
    tuples = []
    for _ in range(n):
        order = torch.randperm(12)
        tuples.append(([photo(k) for k in [order[0], *order[:1 + neg_num]]], torch.Tensor([-1, 1] + [0] * neg_num)))
    return tuples


# %%
features = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True)]
model = ImageRetrievalNet(features, GeM(), {'outputdim': 32})
criterion = ContrastiveLoss(margin=0.7)
# parameters split into features and pool (no weight decay for pooling layer)
parameters = [
    {'params': model.features.parameters()},
    {'params': model.pool.parameters(), 'lr': 2e-3 * 10, 'weight_decay': 0}
]
optimizer = torch.optim.Adam(parameters, 2e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=math.exp(-0.01))


def accumulate(tuples):
    losses = []
    for input, target in tuples:
        ni = len(input)  # number of images per tuple
        output = torch.zeros(model.meta['outputdim'], ni)
        for imi in range(ni):
            # compute output
            output[:, imi] = model(input[imi]).squeeze()

        # compute loss for this batch and do backward pass for a batch
        # each backward pass gradients will be accumulated
        loss = criterion(output, target)
        losses.append(loss.item())
        loss.backward()
    return sum(losses) / len(losses)


# %%
epoch_losses = []
for epoch in range(10):
    # switch to train mode
    model.train()
    model.apply(set_batchnorm_eval)
    average = 0
    for i in range(5):
        # zero out gradients so we can accumulate new ones over batches
        optimizer.zero_grad()
        average += accumulate(create_tuples(5)) / 5
        # do one step for multiple batches
        # accumulated gradients are used
        optimizer.step()
    scheduler.step()
    epoch_losses.append(average)

# %%
tuples = create_tuples(5)
optimizer.zero_grad()
accumulate(tuples)
x, labels = torch.cat([model(im) for input, _ in tuples for im in input], 1), torch.cat([t for _, t in tuples])
at_once = torch.autograd.grad(criterion(x, labels), list(model.parameters()))
same = all(torch.allclose(p.grad, g, atol=1e-5) for p, g in zip(model.parameters(), at_once))
model.eval()
with torch.no_grad():
    known = torch.cat([model(places[i].unsqueeze(0)) for i in range(12)], 1)
    found = sum((known.t() @ model(photo(i))).argmax().item() == i for i in range(12) for _ in range(5)) / 60
print(epoch_losses[0], epoch_losses[-1], same, found, model.pool.p.item())
assert same and epoch_losses[-1] < 0.6 * epoch_losses[0] and found > 0.6
