# https://github.com/vturrisi/solo-learn/issues/258
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)


class GatherLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inp):
        if dist.is_available() and dist.is_initialized():
            output = [torch.zeros_like(inp) for _ in range(dist.get_world_size())]
            dist.all_gather(output, inp)
        else:
            output = [inp]
        return tuple(output)

    @staticmethod
    def backward(ctx, *grads):
        if dist.is_available() and dist.is_initialized():
            all_gradients = torch.stack(grads)
            dist.all_reduce(all_gradients)
            grad_out = all_gradients[dist.get_rank()]
        else:
            grad_out = grads[0]
        return grad_out


def gather(X, dim=0):
    return torch.cat(GatherLayer.apply(X), dim=dim)


def simclr_loss_func(z, indexes, temperature=0.2):
    z = F.normalize(z, dim=-1)
    gathered_z = gather(z)
    sim = torch.exp(torch.einsum("if, jf -> ij", z, gathered_z) / temperature)
    gathered_indexes = gather(indexes)
    indexes = indexes.unsqueeze(0)
    gathered_indexes = gathered_indexes.unsqueeze(0)
    pos_mask = indexes.t() == gathered_indexes
    pos_mask[:, z.size(0) * dist.get_rank():].fill_diagonal_(0)
    neg_mask = indexes.t() != gathered_indexes
    pos = torch.sum(sim * pos_mask, 1)
    neg = torch.sum(sim * neg_mask, 1)
    loss = -(torch.mean(torch.log(pos / (pos + neg))))
    return loss


class SimCLR(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 8))
        self.classifier = nn.Linear(24, num_classes)

    def forward(self, X):
        feats = self.backbone(X)
        return {"logits": self.classifier(feats.detach()), "feats": feats, "z": self.projector(feats)}


# %%
dist.init_process_group(
    backend="gloo", init_method="file://" + os.path.join(tempfile.mkdtemp(), "shared"), rank=0, world_size=1)
targets = torch.randint(0, 4, (256,))
data = (2 * torch.randn(4, 12))[targets] + 0.5 * torch.randn(256, 12)
module = SimCLR()
model = DistributedDataParallel(module)
optimizer = torch.optim.SGD([
    {"params": module.backbone.parameters()},
    {"params": module.projector.parameters()},
    {"params": module.classifier.parameters(), "lr": 0.2, "weight_decay": 0}], lr=0.1, momentum=0.9, weight_decay=1e-5)

# %%
nce_losses, class_losses, accs = [], [], []
for epoch in range(12):
    for indexes in torch.randperm(256).split(64):
        X = [data[indexes] + 0.3 * torch.randn(64, 12) for _ in range(2)]
        out = model(torch.cat(X))
        class_loss = F.cross_entropy(out["logits"], targets[indexes].repeat(2))
        nce_loss = simclr_loss_func(out["z"], indexes=indexes.repeat(2))
        optimizer.zero_grad()
        (nce_loss + class_loss).backward()
        optimizer.step()
        nce_losses.append(nce_loss.item())
        class_losses.append(class_loss.item())
        accs.append((out["logits"].argmax(1) == targets[indexes].repeat(2)).float().mean().item())
dist.destroy_process_group()
print(nce_losses[0], nce_losses[-1], class_losses[0], class_losses[-1], accs[-1])
