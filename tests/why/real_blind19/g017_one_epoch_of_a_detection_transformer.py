# https://github.com/IDEA-Research/DAB-DETR/issues/58
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DABDETR(nn.Module):
    def __init__(self, num_queries=5, d_model=16, num_classes=3):
        super().__init__()
        self.input_proj = nn.Linear(8, d_model)
        self.refpoint_embed = nn.Embedding(num_queries, 4)
        self.query_scale = nn.Linear(4, d_model)
        self.attn = nn.MultiheadAttention(d_model, 2, batch_first=True)
        self.class_embed = nn.Linear(d_model, num_classes)
        self.bbox_embed = nn.Linear(d_model, 4)

    def forward(self, samples):
        memory = self.input_proj(samples)
        anchors = self.refpoint_embed.weight.sigmoid().expand(samples.size(0), -1, -1)
        hs, _ = self.attn(self.query_scale(anchors), memory, memory)
        boxes = (self.bbox_embed(hs) + torch.logit(anchors, eps=1e-5)).sigmoid()
        return {'pred_logits': self.class_embed(hs), 'pred_boxes': boxes}


class SetCriterion(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight_dict = {'loss_ce': 1.0, 'loss_bbox': 5.0}

    def forward(self, outputs, targets):
        return {
            'loss_ce': F.cross_entropy(outputs['pred_logits'].flatten(0, 1), targets['labels'].flatten()),
            'loss_bbox': F.l1_loss(outputs['pred_boxes'], targets['boxes']),
        }


def get_total_grad_norm(parameters):
    return torch.stack([p.grad.detach().norm() for p in parameters if p.grad is not None]).norm()


def train_one_epoch(model, criterion, data_loader, optimizer, epoch, max_norm=0, lr_scheduler=None):
    model.train()
    criterion.train()
    stats = []
    for samples, targets in data_loader:
        outputs = model(samples)
        loss_dict = criterion(outputs, targets)
        weight_dict = criterion.weight_dict
        losses = sum(loss_dict[k] * weight_dict[k] for k in loss_dict.keys() if k in weight_dict)
        loss_value = losses.item()
        if not math.isfinite(loss_value):
            raise SystemExit("Loss is {}, stopping training".format(loss_value))

        # original backward function
        losses.backward()
        if max_norm > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        grad_norm = get_total_grad_norm(model.parameters())
        optimizer.step()

        if lr_scheduler is not None:
            lr_scheduler.step()
        stats.append((loss_value, grad_norm.item()))
    print("Epoch: [{}] loss: {:.4f} grad_norm: {:.4f}".format(epoch, *stats[-1]))
    return stats


# %%
model = DABDETR()
criterion = SetCriterion()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
samples = torch.randn(16, 4, 10, 8)
labels = torch.randint(0, 3, (1, 5)).expand(4, -1)
boxes = torch.rand(1, 5, 4).expand(4, -1, -1)
data_loader = [(s, {'labels': labels, 'boxes': boxes}) for s in samples]

# %%
history = []
for epoch in range(8):
    history += train_one_epoch(model, criterion, data_loader, optimizer, epoch)
print("first", history[0], "last", history[-1])
