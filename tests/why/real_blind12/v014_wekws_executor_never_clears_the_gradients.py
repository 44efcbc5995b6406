# https://github.com/wenet-e2e/wekws/pull/73
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)


class KWSModel(nn.Module):
    def __init__(self, idim=10, hdim=16, odim=3):
        super().__init__()
        self.preprocessing = nn.Linear(idim, hdim)
        self.backbone = nn.GRU(hdim, hdim, batch_first=True)
        self.classifier = nn.Linear(hdim, odim)

    def forward(self, feats):
        x = torch.relu(self.preprocessing(feats))
        x, _ = self.backbone(x)
        return self.classifier(x)


def max_pooling_loss(logits, target):
    pooled = logits.max(dim=1).values
    return nn.functional.cross_entropy(pooled, target), (pooled.argmax(1) == target).float().mean()


class Executor:
    def __init__(self):
        self.step = 0

    def train(self, model, optimizer, data_loader, device, args):
        ''' Train one epoch
        '''
        model.train()
        clip = args.get('grad_clip', 50.0)
        log_interval = args.get('log_interval', 10)
        epoch = args.get('epoch', 0)
        for batch_idx, (feats, target) in enumerate(data_loader):
            feats = feats.to(device)
            target = target.to(device)
            num_utts = feats.size(0)
            if num_utts == 0:
                continue
            logits = model(feats)
            loss, acc = max_pooling_loss(logits, target)
            loss.backward()
            grad_norm = clip_grad_norm_(model.parameters(), clip)
            if torch.isfinite(grad_norm):
                optimizer.step()
            if batch_idx % log_interval == 0:
                print('TRAIN Batch {}/{} loss {:.6f} acc {:.3f} grad {:.3f}'.format(
                    epoch, batch_idx, loss.item(), acc.item(), grad_norm.item()))


# %%
model = KWSModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
data_loader = []
for _ in range(20):
    target = torch.randint(0, 3, (8,))
    data_loader.append((torch.randn(8, 12, 10) + target.view(-1, 1, 1), target))

# %%
executor = Executor()
for epoch in range(2):
    executor.train(model, optimizer, data_loader, 'cpu', {'epoch': epoch})
