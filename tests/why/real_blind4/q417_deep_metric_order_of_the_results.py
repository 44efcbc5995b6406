# https://github.com/bnu-wangxun/Deep_Metric/issues/26
import torch
from torch import nn

torch.manual_seed(0)


class WeightLoss(nn.Module):
    def __init__(self, alpha=10, beta=2, margin=0.5, **kwargs):
        super(WeightLoss, self).__init__()
        self.margin = margin
        self.alpha = alpha
        self.beta = beta

    def forward(self, inputs, targets):
        n = inputs.size(0)
        # Compute similarity matrix
        sim_mat = torch.matmul(inputs, inputs.t())
        targets = targets
        base = 0.5
        loss = list()
        c = 0
        pos_sims, neg_sims = [], []

        for i in range(n):
            pos_pair_ = torch.masked_select(sim_mat[i], targets == targets[i])
            # move itself
            pos_pair_ = torch.masked_select(pos_pair_, pos_pair_ < 1 - 1e-6)
            neg_pair_ = torch.masked_select(sim_mat[i], targets != targets[i])
            pos_pair_ = torch.sort(pos_pair_)[0]
            neg_pair_ = torch.sort(neg_pair_)[0]
            pos_sims.append(pos_pair_.mean().item())
            neg_sims.append(neg_pair_.mean().item())

            neg_pair = torch.masked_select(neg_pair_, neg_pair_ > pos_pair_[0] - 0.1)
            pos_pair = torch.masked_select(pos_pair_, pos_pair_ < neg_pair_[-1] + 0.1)
            if len(neg_pair) < 1 or len(pos_pair) < 1:
                c += 1
                continue
            pos_loss = 2.0 / self.beta * torch.log(1 + torch.sum(torch.exp(-self.beta * (pos_pair - base))))
            neg_loss = 2.0 / self.alpha * torch.log(1 + torch.sum(torch.exp(self.alpha * (neg_pair - base))))
            loss.append(pos_loss + neg_loss)

        loss = sum(loss) / n
        prec = float(c) / n
        mean_neg_sim = sum(neg_sims) / n
        mean_pos_sim = sum(pos_sims) / n
        return mean_pos_sim, mean_neg_sim, prec, loss


class Embedding(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(8, dim)

    def forward(self, x):
        x = self.classifier(self.features(x))
        return nn.functional.normalize(x, dim=1)


def train(epoch, model, criterion, optimizer, train_loader):
    model.train()
    for i, data in enumerate(train_loader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        embed_feat = model(inputs)
        loss, inter_, dist_ap, dist_an = criterion(embed_feat, labels)
        loss.backward()
        optimizer.step()
        print('[Epoch:%d %d/%d] Loss: %.4f Accuracy: %.4f Pos: %.4f Neg: %.4f' % (
            epoch, i, len(train_loader), loss.item(), inter_, dist_ap, dist_an))


# %%
model = Embedding()
criterion = WeightLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train_loader = [(torch.rand(9, 3, 8, 8), torch.arange(3).repeat_interleave(3)) for _ in range(2)]
train(0, model, criterion, optimizer, train_loader)
