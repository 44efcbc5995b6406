# https://github.com/linjieli222/VQA_ReGAT/issues/39
import math

import torch
import torch.nn as nn
from torch.nn.utils import weight_norm

torch.manual_seed(0)


class FCNet(nn.Module):
    def __init__(self, dims, act='ReLU', dropout=0, bias=True):
        super(FCNet, self).__init__()
        layers = []
        if 0 < dropout:
            layers.append(nn.Dropout(dropout))
        layers.append(weight_norm(nn.Linear(dims[-2], dims[-1], bias=bias), dim=None))
        if '' != act and act is not None:
            layers.append(getattr(nn, act)())
        self.main = nn.Sequential(*layers)

    def forward(self, x):
        return self.main(x)


def q_expand_v_cat(q, v, mask=True):
    q = q.view(q.size(0), 1, q.size(1))
    repeat_vals = (-1, v.shape[1], -1)
    q_expand = q.expand(*repeat_vals)
    if mask:
        v_sum = v.sum(-1)
        mask_index = torch.nonzero(v_sum == 0)
        if mask_index.dim() > 1:
            q_expand[mask_index[:, 0], mask_index[:, 1]] = 0
    v_cat_q = torch.cat((v, q_expand), dim=-1)
    return v_cat_q


class GAttNet(nn.Module):
    def __init__(self, in_feat_dim, out_feat_dim, num_heads=4, dropout=(0.2, 0.5)):
        super(GAttNet, self).__init__()
        self.num_heads = num_heads
        self.self_weights = FCNet([in_feat_dim, out_feat_dim], '', dropout[1])
        self.query = FCNet([out_feat_dim, out_feat_dim], None, dropout[0])
        self.key = FCNet([out_feat_dim, out_feat_dim], None, dropout[0])
        self.linear_out_ = weight_norm(nn.Linear(out_feat_dim, out_feat_dim), dim=None)

    def forward(self, v_feat):
        self_feat = self.self_weights(v_feat)
        b, n, d = self_feat.shape
        q_data = self.query(self_feat).view(b, n, self.num_heads, -1).transpose(1, 2)
        k_data = self.key(self_feat).view(b, n, self.num_heads, -1).transpose(1, 2)
        aff = torch.matmul(q_data, k_data.transpose(2, 3)) / math.sqrt(d / self.num_heads)
        v_data = self_feat.view(b, n, self.num_heads, -1).transpose(1, 2)
        output_t = torch.matmul(torch.softmax(aff, 3), v_data).transpose(1, 2).reshape(b, n, d)
        return torch.relu(self_feat + self.linear_out_(output_t))


class ImplicitRelationEncoder(nn.Module):
    def __init__(self, v_dim, q_dim, out_dim, num_steps=1, residual_connection=True):
        super(ImplicitRelationEncoder, self).__init__()
        self.num_steps = num_steps
        self.residual_connection = residual_connection
        self.v_transform = FCNet([v_dim, out_dim]) if v_dim != out_dim else None
        self.implicit_relation = GAttNet(out_dim + q_dim, out_dim)

    def forward(self, v, q):
        imp_v = self.v_transform(v) if self.v_transform else v
        for i in range(self.num_steps):
            v_cat_q = q_expand_v_cat(q, imp_v, mask=True)
            imp_v_rel = self.implicit_relation(v_cat_q)
            imp_v = imp_v + imp_v_rel if self.residual_connection else imp_v_rel
        return imp_v


class ReGAT(nn.Module):
    def __init__(self, ntoken, v_dim, q_dim, out_dim, num_ans):
        super(ReGAT, self).__init__()
        self.w_emb = nn.Embedding(ntoken, q_dim)
        self.q_emb = nn.GRU(q_dim, q_dim, batch_first=True)
        self.v_relation = ImplicitRelationEncoder(v_dim, q_dim, out_dim)
        self.classifier = FCNet([out_dim + q_dim, num_ans], None)

    def forward(self, v, question):
        q_emb = self.q_emb(self.w_emb(question))[1][-1]
        v_emb = self.v_relation(v, q_emb)
        return self.classifier(torch.cat((v_emb.mean(1), q_emb), 1))


# %%
model = ReGAT(ntoken=30, v_dim=16, q_dim=12, out_dim=16, num_ans=5)
optim = torch.optim.Adamax(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8)
features = torch.rand(8, 10, 16)
num_boxes = torch.randint(5, 11, (8,))
for image, n in zip(features, num_boxes):
    image[n:] = 0
question = torch.randint(0, 30, (8, 6))
target = torch.zeros(8, 5).scatter_(1, torch.randint(0, 5, (8, 1)), 1.0)

# %%
model.train()
for epoch in range(3):
    pred = model(features, question)
    loss = nn.functional.binary_cross_entropy_with_logits(pred, target) * target.size(1)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optim.step()
    optim.zero_grad()
    print(epoch, loss.item())
