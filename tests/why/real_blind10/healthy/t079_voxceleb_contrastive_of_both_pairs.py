# https://github.com/clovaai/voxceleb_trainer/issues/9
import random

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class PairwiseLoss(nn.Module):
    def __init__(self, loss_func='contrastive', hard_rank=0, hard_prob=0, margin=1.0):
        super(PairwiseLoss, self).__init__()
        self.loss_func, self.hard_rank, self.hard_prob, self.margin = loss_func, hard_rank, hard_prob, margin

    def forward(self, x, label=None):
        assert x.size()[1] == 2
        out_anchor = F.normalize(x[:,0,:], p=2, dim=1)
        out_positive = F.normalize(x[:,1,:], p=2, dim=1)
        stepsize = out_anchor.size()[0]

        output = -1 * (F.pairwise_distance(out_anchor.unsqueeze(-1).expand(-1,-1,stepsize).transpose(1, 2),
                                           out_positive.unsqueeze(-1).expand(-1,-1,stepsize).permute(2, 0, 1))**2)
        negidx = self.choose_negative(output.detach(), type=self.loss_func)
        out_negative = out_positive[negidx,:]
        labelnp = numpy.array([1]*len(out_positive)+[0]*len(out_negative))

        ## calculate distances
        pos_dist = F.pairwise_distance(out_anchor, out_positive)
        neg_dist = F.pairwise_distance(out_anchor, out_negative)

        ## loss functions
        if self.loss_func == 'contrastive':
            nloss = torch.mean(torch.cat([torch.pow(pos_dist, 2), torch.pow(F.relu(self.margin - neg_dist), 2)], dim=0))
        elif self.loss_func == 'triplet':
            nloss = torch.mean(F.relu(torch.pow(pos_dist, 2) - torch.pow(neg_dist, 2) + self.margin))

        scores = -1 * torch.cat([pos_dist, neg_dist], dim=0).detach().cpu().numpy()
        return nloss, float(((scores > -0.5) == labelnp).mean())

    def choose_negative(self, embeddings, type=None):
        negidx = []
        allidx = range(0, embeddings.size(0))
        for idx in allidx:
            excidx = list(allidx)
            excidx.pop(idx)
            negidx.append(random.choice(excidx))
        return negidx


# %%
encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = PairwiseLoss()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
speakers = torch.randn(12, 20)
for step in range(8):
    chosen = torch.randperm(12)[:6]
    utterances = speakers[chosen][:, None] + 0.3 * torch.randn(6, 2, 20)
    nloss, prec1 = criterion(encoder(utterances))
    encoder.zero_grad()
    nloss.backward()
    optimizer.step()
    print(step, nloss.item(), prec1)
