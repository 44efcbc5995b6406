from itertools import pairwise

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, i, h, o, n):
        super().__init__()
        dims = [i] + [h] * (n - 1) + [o]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(dims))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < len(self.layers) - 1 else layer(x)
        return x


class DETR(nn.Module):
    def __init__(self, num_classes=5, d=32, queries=6):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()
        )
        self.input_proj = nn.Conv2d(32, d, 1)
        self.row_embed = nn.Parameter(torch.rand(20, d // 2))
        self.col_embed = nn.Parameter(torch.rand(20, d // 2))
        self.transformer = nn.Transformer(d, 4, 2, 2, 64, 0.1, batch_first=True)
        self.query_embed = nn.Embedding(queries, d)
        self.class_embed = nn.Linear(d, num_classes + 1)
        self.bbox_embed = MLP(d, d, 4, 3)

    def forward(self, images):
        src = self.input_proj(self.backbone(images))
        h, w = src.shape[-2:]
        pos = torch.cat(
            [
                self.col_embed[:w].unsqueeze(0).repeat(h, 1, 1),
                self.row_embed[:h].unsqueeze(1).repeat(1, w, 1),
            ],
            dim=-1,
        ).flatten(0, 1)
        tokens = src.flatten(2).permute(0, 2, 1) + 0.1 * pos.unsqueeze(0)
        tgt = self.query_embed.weight.unsqueeze(0).repeat(images.shape[0], 1, 1)
        hs = self.transformer(tokens, tgt)
        return {"pred_logits": self.class_embed(hs), "pred_boxes": self.bbox_embed(hs).sigmoid()}


class HungarianMatcher(nn.Module):
    @torch.no_grad()
    def forward(self, outputs, targets):
        indices = []
        for b, t in enumerate(targets):
            prob = outputs["pred_logits"][b].softmax(-1)
            cost_class = -prob[:, t["labels"]]
            cost_bbox = torch.cdist(outputs["pred_boxes"][b], t["boxes"], p=1)
            cost = (5 * cost_bbox + cost_class).cpu()
            src, tgt = [], []
            for _ in range(cost.shape[1]):
                i, j = divmod(int(cost.argmin()), cost.shape[1])
                src.append(i)
                tgt.append(j)
                cost[i, :], cost[:, j] = 1e9, 1e9
            indices.append((torch.as_tensor(src), torch.as_tensor(tgt)))
        return indices


class SetCriterion(nn.Module):
    def __init__(self, num_classes, matcher, weight_dict, eos_coef=0.1):
        super().__init__()
        self.num_classes, self.matcher, self.weight_dict = num_classes, matcher, weight_dict
        empty_weight = torch.ones(num_classes + 1)
        empty_weight[-1] = eos_coef
        self.register_buffer("empty_weight", empty_weight)

    def loss_labels(self, outputs, targets, idx, indices):
        logits = outputs["pred_logits"]
        matched = torch.cat([t["labels"][j] for t, (_, j) in zip(targets, indices, strict=True)])
        classes = torch.full(logits.shape[:2], self.num_classes, dtype=torch.int64)
        classes[idx] = matched
        return {"loss_ce": F.cross_entropy(logits.transpose(1, 2), classes, self.empty_weight)}

    def loss_boxes(self, outputs, targets, idx, indices):
        src = outputs["pred_boxes"][idx]
        tgt = torch.cat([t["boxes"][j] for t, (_, j) in zip(targets, indices, strict=True)])
        lt = torch.max(src[:, :2], tgt[:, :2])
        rb = torch.min(src[:, 2:], tgt[:, 2:])
        inter = (rb - lt).clamp(min=0).prod(-1)
        area = (src[:, 2:] - src[:, :2]).prod(-1) + (tgt[:, 2:] - tgt[:, :2]).prod(-1)
        giou = inter / (area - inter).abs().clamp(min=1e-3)
        return {"loss_bbox": F.l1_loss(src, tgt), "loss_giou": (1 - giou).mean()}

    def forward(self, outputs, targets):
        indices = self.matcher(outputs, targets)
        batch_idx = torch.cat([torch.full_like(s, i) for i, (s, _) in enumerate(indices)])
        src_idx = torch.cat([s for s, _ in indices])
        losses = {}
        losses.update(self.loss_labels(outputs, targets, (batch_idx, src_idx), indices))
        losses.update(self.loss_boxes(outputs, targets, (batch_idx, src_idx), indices))
        return losses


model = DETR()
criterion = SetCriterion(5, HungarianMatcher(), {"loss_ce": 1, "loss_bbox": 5, "loss_giou": 2})
optimizer = torch.optim.AdamW(
    [
        {"params": [p for n, p in model.named_parameters() if "backbone" not in n]},
        {"params": model.backbone.parameters(), "lr": 1e-5},
    ],
    lr=1e-4,
)
samples = torch.rand(2, 3, 24, 24)
targets = [
    {"labels": torch.tensor([1, 3]), "boxes": torch.rand(2, 4)},
    {"labels": torch.tensor([0]), "boxes": torch.rand(1, 4)},
]
# %% the recorded cell
model.train()
outputs = model(samples)
loss_dict = criterion(outputs, targets)
weight_dict = criterion.weight_dict
losses = sum(loss_dict[k] * weight_dict[k] for k in loss_dict if k in weight_dict)
optimizer.zero_grad()
losses.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
optimizer.step()
