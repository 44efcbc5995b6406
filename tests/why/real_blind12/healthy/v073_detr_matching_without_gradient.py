# https://github.com/facebookresearch/detr/issues/533
import torch
import torch.nn.functional as F
from itertools import permutations
from torch import nn

torch.manual_seed(0)


class HungarianMatcher(nn.Module):
    def __init__(self, cost_class=1., cost_bbox=5.):
        super().__init__()
        self.cost_class, self.cost_bbox = cost_class, cost_bbox

    @torch.no_grad()
    def forward(self, outputs, targets):
        indices = []
        for logits, boxes, t in zip(outputs["pred_logits"], outputs["pred_boxes"], targets):
            out_prob = logits.softmax(-1)
            C = self.cost_class * -out_prob[:, t["labels"]] + self.cost_bbox * torch.cdist(boxes, t["boxes"], p=1)
            C = C.cpu().numpy()
            n = len(t["labels"])
            best = min(permutations(range(len(C)), n), key=lambda rows: sum(C[r, c] for c, r in enumerate(rows)))
            indices.append((torch.as_tensor(best), torch.arange(n)))
        return indices


class SetCriterion(nn.Module):
    def __init__(self, num_classes, matcher, eos_coef=0.1):
        super().__init__()
        self.num_classes, self.matcher = num_classes, matcher
        empty_weight = torch.ones(num_classes + 1)
        empty_weight[-1] = eos_coef
        self.register_buffer('empty_weight', empty_weight)

    def forward(self, outputs, targets):
        outputs_without_aux = {k: v for k, v in outputs.items() if k != 'aux_outputs'}
        indices = self.matcher(outputs_without_aux, targets)
        idx = (torch.cat([torch.full_like(src, i) for i, (src, _) in enumerate(indices)]),
               torch.cat([src for src, _ in indices]))
        target_classes_o = torch.cat([t["labels"][J] for t, (_, J) in zip(targets, indices)])
        target_classes = torch.full(outputs["pred_logits"].shape[:2], self.num_classes, dtype=torch.int64)
        target_classes[idx] = target_classes_o
        loss_ce = F.cross_entropy(outputs["pred_logits"].transpose(1, 2), target_classes, self.empty_weight)
        target_boxes = torch.cat([t["boxes"][J] for t, (_, J) in zip(targets, indices)])
        loss_bbox = F.l1_loss(outputs["pred_boxes"][idx], target_boxes, reduction='sum') / len(target_boxes)
        return {"loss_ce": loss_ce, "loss_bbox": loss_bbox}


class DETR(nn.Module):
    def __init__(self, num_classes=3, num_queries=5, hidden_dim=32):
        super().__init__()
        self.input_proj = nn.Linear(10, hidden_dim)
        self.query_embed = nn.Embedding(num_queries, hidden_dim)
        layer = nn.TransformerDecoderLayer(hidden_dim, 4, 64, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerDecoder(layer, 1)
        self.class_embed = nn.Linear(hidden_dim, num_classes + 1)
        self.bbox_embed = nn.Linear(hidden_dim, 4)

    def forward(self, tokens):
        query = self.query_embed.weight.unsqueeze(0).repeat(len(tokens), 1, 1)
        hs = self.transformer(query, self.input_proj(tokens))
        return {'pred_logits': self.class_embed(hs), 'pred_boxes': self.bbox_embed(hs).sigmoid()}


# %%
model = DETR()
criterion = SetCriterion(3, HungarianMatcher())
weight_dict = {'loss_ce': 1, 'loss_bbox': 5}
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
samples = torch.randn(6, 7, 10)
targets = [{"labels": torch.randint(0, 3, (k,)), "boxes": torch.rand(k, 4)} for k in (1, 2, 3, 2, 1, 3)]

# %%
loss_values = []
for epoch in range(60):
    loss_dict = criterion(model(samples), targets)
    losses = sum(loss_dict[k] * weight_dict[k] for k in loss_dict.keys())
    optimizer.zero_grad()
    losses.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    loss_values.append(losses.item())
print(loss_values[0], loss_values[-1])
assert loss_values[-1] < 0.7 * loss_values[0]
assert model.bbox_embed.weight.grad.abs().sum() > 0 and model.query_embed.weight.grad.abs().sum() > 0
