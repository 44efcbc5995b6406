# https://github.com/lyuwenyu/RT-DETR/issues/423
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TinyDetector(nn.Module):
    def __init__(self, num_classes=3, hidden=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, hidden, 3, stride=2, padding=1), nn.ReLU())
        self.query = nn.Parameter(torch.randn(1, 1, hidden))
        self.pos = nn.Parameter(0.1 * torch.randn(1, 16, hidden))
        self.attn = nn.MultiheadAttention(hidden, 4, batch_first=True)
        self.score_head = nn.Linear(hidden, num_classes)
        self.bbox_head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 4))

    def forward(self, samples):
        memory = self.backbone(samples).flatten(2).transpose(1, 2)
        query = self.query.expand(len(samples), -1, -1)
        out, _ = self.attn(query, memory + self.pos, memory + self.pos)
        out = out + query
        return {'pred_logits': self.score_head(out)[:, 0], 'pred_boxes': torch.sigmoid(self.bbox_head(out))[:, 0]}


class SetCriterion(nn.Module):
    def forward(self, outputs, targets):
        logits, boxes = outputs['pred_logits'].float(), outputs['pred_boxes'].float()
        return {'loss_ce': F.cross_entropy(logits, targets['labels']), 'loss_bbox': 5 * F.l1_loss(boxes, targets['boxes'])}


class ModelEMA:
    def __init__(self, model, decay=0.95):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    def update(self, model):
        with torch.no_grad():
            for ema_v, v in zip(self.module.state_dict().values(), model.state_dict().values()):
                ema_v.mul_(self.decay).add_(v, alpha=1 - self.decay)


def draw(n=32):
    labels = torch.randint(0, 3, (n,))
    size = 0.3 + 0.2 * torch.rand(n, 2)
    center = size / 2 + (1 - size) * torch.rand(n, 2)
    grid = (torch.arange(16) + 0.5) / 16
    in_x = (grid - center[:, :1]).abs() < size[:, :1] / 2
    in_y = (grid - center[:, 1:]).abs() < size[:, 1:] / 2
    samples = (in_y[:, :, None] & in_x[:, None, :]).float() * (labels + 1)[:, None, None] / 2
    return samples[:, None], {'labels': labels, 'boxes': torch.cat([center, size], 1)}


# %%
model, criterion = TinyDetector(), SetCriterion()
ema = ModelEMA(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
dtypes, history = set(), []

# %%
model.train()
for i in range(150):
    samples, targets = draw()
    with torch.autocast(device_type='cpu', dtype=torch.bfloat16, cache_enabled=True):
        outputs = model(samples)
    dtypes.add(outputs['pred_logits'].dtype)
    with torch.autocast(device_type='cpu', enabled=False):
        loss_dict = criterion(outputs, targets)
    loss = sum(loss_dict.values())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    ema.update(model)
    history.append(loss.item())
with torch.no_grad():
    samples, targets = draw(200)
    accuracy = (ema.module(samples)['pred_logits'].argmax(1) == targets['labels']).float().mean().item()
print(history[0], history[-1], accuracy, dtypes)
assert dtypes == {torch.bfloat16} and loss.dtype == torch.float32
assert history[-1] < 0.5 * history[0] and accuracy > 0.7
assert all(p.dtype == torch.float32 for p in model.parameters())
