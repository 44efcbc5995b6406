# https://github.com/HKUDS/GraphGPT/issues/31
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gnn = nn.Linear(10, 8)
        self.text = nn.Linear(12, 8)

    def forward(self, graphs, texts):
        s, t = self.gnn(graphs), self.text(texts)
        return s / s.norm(dim=-1, keepdim=True), t / t.norm(dim=-1, keepdim=True)


def cal_cl_loss(s_features, t_features, labels):
    logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07)).exp()
    logits = logit_scale * s_features @ t_features.t()
    loss_i = F.cross_entropy(logits, labels)
    loss_t = F.cross_entropy(logits.T, labels)
    ret_loss = (loss_i + loss_t) / 2
    return ret_loss


# %%
model = CLIP()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

# %%
for epoch in range(4):
    graphs, texts = torch.randn(16, 10), torch.randn(16, 12)
    s_graph_feats, text_feats = model(graphs, texts)
    loss = cal_cl_loss(s_graph_feats, text_feats, torch.arange(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
