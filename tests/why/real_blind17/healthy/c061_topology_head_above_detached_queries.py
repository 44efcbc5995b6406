# https://github.com/wudongming97/TopoMLP/issues/21
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        h = [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip([input_dim] + h, h + [output_dim]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < len(self.layers) - 1 else layer(x)
        return x


class TopoLLHead(nn.Module):
    def __init__(self, in_channels=32, feat_channels=32, is_detach=True, loss_weight=5.0):
        super().__init__()
        self.is_detach, self.loss_weight = is_detach, loss_weight
        self.mlp1 = MLP(in_channels + 4, feat_channels, feat_channels, 3)
        self.mlp2 = MLP(in_channels + 4, feat_channels, feat_channels, 3)
        self.classifier = MLP(feat_channels * 2, feat_channels, 1, 3)

    def forward(self, o1_feats, o2_feats):
        if self.is_detach:
            o1_feats, o2_feats = o1_feats.detach(), o2_feats.detach()
        o1_embeds, o2_embeds = self.mlp1(o1_feats), self.mlp2(o2_feats)
        n = o1_embeds.size(1)
        relationship = torch.cat([o1_embeds.unsqueeze(2).expand(-1, -1, n, -1), o2_embeds.unsqueeze(1).expand(-1, n, -1, -1)], dim=-1)
        return self.classifier(relationship).squeeze(-1)

    def loss(self, rel_preds, gt_adj):
        p = rel_preds.sigmoid()
        pt = torch.where(gt_adj > 0, p, 1 - p)
        weight = torch.where(gt_adj > 0, 0.75, 0.25)
        ce = F.binary_cross_entropy_with_logits(rel_preds, gt_adj, reduction='none')
        return self.loss_weight * (weight * (1 - pt) ** 2 * ce).mean()


class LaneHead(nn.Module):
    """Each query looks at its own column of the picture and tells the two ends of a lane."""

    def __init__(self, num_query=6, embed_dims=32):
        super().__init__()
        self.query_embedding = nn.Embedding(num_query, embed_dims)
        self.img_proj = nn.Linear(8, embed_dims)
        self.ffn = MLP(embed_dims, 64, embed_dims, 2)
        self.lane_branch = MLP(embed_dims, embed_dims, 4, 2)

    def forward(self, img_feats):
        hs = self.query_embedding.weight + self.img_proj(img_feats)
        hs = hs + self.ffn(hs)
        return hs, self.lane_branch(hs)


class TopoMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.pts_bbox_head = LaneHead()
        self.topo_ll_head = TopoLLHead()

    def forward(self, img_feats):
        hs, lanes = self.pts_bbox_head(img_feats)
        feats = torch.cat([hs, lanes], dim=-1)
        return lanes, self.topo_ll_head(feats, feats)


def scenes(n):
    """Lanes as start and end; one follows another if it starts where that one ends."""
    stops = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    start, end = torch.randint(0, 4, (2, n, 6))
    lanes = torch.cat([stops[start], stops[end]], dim=-1)
    adj = (end.unsqueeze(2) == start.unsqueeze(1)).float()
    mixing = torch.eye(8)[:4] + torch.eye(8)[4:].roll(1, 0)
    return lanes @ mixing + 0.05 * torch.randn(n, 6, 8), lanes, adj


# %%
model = TopoMLP()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
log = []
for iteration in range(300):
    img_feats, gt_lanes, gt_adj = scenes(32)
    lanes, rel_preds = model(img_feats)
    loss_lane = F.l1_loss(lanes, gt_lanes)
    loss_topo = model.topo_ll_head.loss(rel_preds, gt_adj)
    loss = loss_lane + loss_topo
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=35, norm_type=2)
    optimizer.step()
    log.append((loss_lane.item(), loss_topo.item()))

# %%
img_feats, gt_lanes, gt_adj = scenes(100)
lanes, rel_preds = model(img_feats)
to_detection = torch.autograd.grad(model.topo_ll_head.loss(rel_preds, gt_adj), list(model.pts_bbox_head.parameters()), allow_unused=True)
right = ((rel_preds > 0).float() == gt_adj).float().mean().item()
print(log[0], log[-1], right, [g is None for g in to_detection])
assert all(g is None for g in to_detection)
assert all(p.grad is not None for p in model.parameters())
assert right > 0.95 and log[-1][0] < 0.3 * log[0][0]
