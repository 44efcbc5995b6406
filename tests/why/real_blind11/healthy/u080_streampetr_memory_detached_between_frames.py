# https://github.com/exiawsh/StreamPETR/issues/63
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def topk_gather(feat, topk_indexes):
    return torch.gather(feat, 1, topk_indexes.expand(-1, -1, feat.shape[-1]))


class StreamPETRHead(nn.Module):
    def __init__(self, dim=16, num_query=20, topk_proposals=6, memory_len=12):
        super().__init__()
        self.query_embed = nn.Embedding(num_query, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.cls_branch, self.reg_branch = nn.Linear(dim, 1), nn.Linear(dim, 3)
        self.topk_proposals, self.memory_len = topk_proposals, memory_len
        self.memory_embedding = None

    def pre_update_memory(self, feats):
        if self.memory_embedding is None:
            self.memory_embedding = feats.new_zeros(feats.size(0), self.memory_len, feats.size(-1))

    def post_update_memory(self, outs_dec, all_cls_scores):
        rec_score = all_cls_scores.sigmoid()
        _, topk_indexes = torch.topk(rec_score, self.topk_proposals, dim=1)
        rec_memory = topk_gather(outs_dec, topk_indexes).detach()
        self.memory_embedding = torch.cat([rec_memory, self.memory_embedding], dim=1)[:, :self.memory_len]

    def forward(self, feats):
        self.pre_update_memory(feats)
        query = self.query_embed.weight[None].expand(feats.size(0), -1, -1)
        tokens = torch.cat([feats, self.memory_embedding], dim=1)
        outs_dec = query + self.attn(query, tokens, tokens)[0]
        cls, reg = self.cls_branch(outs_dec), self.reg_branch(outs_dec)
        self.post_update_memory(outs_dec, cls)
        return cls, reg


# %%
backbone, head = nn.Linear(10, 16), StreamPETRHead()
optimizer = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=5e-3)
video = torch.randn(30, 2, 8, 10)
gt_cls, gt_reg = (torch.rand(2, 20, 1) < 0.3).float(), torch.randn(2, 20, 3)

# %%
losses = []
for frame in video:
    cls, reg = head(backbone(frame))
    loss = F.binary_cross_entropy_with_logits(cls, gt_cls) + F.l1_loss(reg, gt_reg)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0] and backbone.weight.grad.abs().sum() > 0
assert not head.memory_embedding.requires_grad and head.memory_embedding.abs().sum() > 0
