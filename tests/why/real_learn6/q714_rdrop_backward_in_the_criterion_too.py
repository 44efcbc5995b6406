# https://github.com/dropreg/R-Drop/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FairseqOptimizer:
    def __init__(self, params):
        self._optimizer = torch.optim.Adam(params, lr=1e-3)

    def backward(self, loss):
        loss.backward()

    def step(self):
        self._optimizer.step()

    def zero_grad(self):
        self._optimizer.zero_grad()


class RegLabelSmoothedCrossEntropy(nn.Module):
    def compute_kl_loss(self, logits):
        p, q = torch.split(F.log_softmax(logits, dim=-1), logits.size(0) // 2, dim=0)
        return (F.kl_div(p, q.exp(), reduction="sum") + F.kl_div(q, p.exp(), reduction="sum")) / 2

    def forward_reg(self, model, sample, optimizer, reg_alpha, ignore_grad):
        x, target = sample
        logits = model(torch.cat([x, x.clone()], 0))
        loss = F.cross_entropy(logits, torch.cat([target, target.clone()], 0), reduction="sum")
        loss = loss + reg_alpha * self.compute_kl_loss(logits)
        if ignore_grad:
            loss *= 0
        optimizer.backward(loss)
        return loss


class RDropTranslationTask:
    def train_step(self, sample, model, criterion, optimizer, ignore_grad=False):
        model.train()
        loss = criterion.forward_reg(model, sample, optimizer, 0.7, ignore_grad)
        if ignore_grad:
            loss *= 0
        with torch.autograd.profiler.record_function("backward"):
            optimizer.backward(loss)
        return loss


# %%
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 5))
optimizer = FairseqOptimizer(model.parameters())
task, criterion = RDropTranslationTask(), RegLabelSmoothedCrossEntropy()

# %%
sample = torch.randn(4, 6), torch.randint(0, 5, (4,))
optimizer.zero_grad()
loss = task.train_step(sample, model, criterion, optimizer)
optimizer.step()
