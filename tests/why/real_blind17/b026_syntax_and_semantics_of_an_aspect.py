# https://github.com/CCChenhao997/DualGCN-ABSA/issues/4
import copy
import math
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
opt = SimpleNamespace(bert_dim=16, num_layers=2, attention_heads=1, polarities_dim=3, alpha=0.3)


def attention(query, key, mask, dropout):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    scores = scores.masked_fill(mask == 0, -1e9)
    return dropout(F.softmax(scores, dim=-1))


class MultiHeadAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super(MultiHeadAttention, self).__init__()
        self.d_k = d_model // h
        self.h = h
        linear = nn.Linear(d_model, d_model)
        self.linears = nn.ModuleList([copy.deepcopy(linear) for _ in range(2)])
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, mask):
        query, key = [l(x).view(query.size(0), -1, self.h, self.d_k).transpose(1, 2)
                      for l, x in zip(self.linears, (query, key))]
        return attention(query, key, mask=mask.unsqueeze(1), dropout=self.dropout)


class GCNBert(nn.Module):
    def __init__(self, bert, opt):
        super(GCNBert, self).__init__()
        self.bert = bert
        self.layers = opt.num_layers
        self.mem_dim = opt.bert_dim // 2
        self.attention_heads = opt.attention_heads
        self.layernorm = nn.LayerNorm(opt.bert_dim)
        dims = [opt.bert_dim] + [self.mem_dim] * (self.layers - 1)
        self.W = nn.ModuleList(nn.Linear(dim, self.mem_dim) for dim in dims)
        self.attn = MultiHeadAttention(opt.attention_heads, opt.bert_dim)
        self.weight_list = nn.ModuleList(nn.Linear(dim, self.mem_dim) for dim in dims)
        self.affine1 = nn.Parameter(0.1 * torch.randn(self.mem_dim, self.mem_dim))
        self.affine2 = nn.Parameter(0.1 * torch.randn(self.mem_dim, self.mem_dim))

    def forward(self, text_bert_indices, adj, src_mask):
        src_mask = src_mask.unsqueeze(-2)
        gcn_inputs = self.layernorm(self.bert(text_bert_indices))
        denom_dep = adj.sum(2).unsqueeze(2) + 1
        attn_tensor = self.attn(gcn_inputs, gcn_inputs, src_mask)
        attn_adj_list = [attn_adj.squeeze(1) for attn_adj in torch.split(attn_tensor, 1, dim=1)]
        adj_ag = None

        # * Average Multi-head Attention matrixes
        for i in range(self.attention_heads):
            if adj_ag is None:
                adj_ag = attn_adj_list[i]
            else:
                adj_ag += attn_adj_list[i]
        adj_ag /= self.attention_heads

        for j in range(adj_ag.size(0)):
            adj_ag[j] -= torch.diag(torch.diag(adj_ag[j]))
            adj_ag[j] += torch.eye(adj_ag[j].size(0))
        adj_ag = src_mask.transpose(1, 2) * adj_ag

        denom_ag = adj_ag.sum(2).unsqueeze(2) + 1
        outputs_ag = outputs_dep = gcn_inputs
        for l in range(self.layers):
            gAxW_dep = F.relu(self.W[l](adj.bmm(outputs_dep)) / denom_dep)
            gAxW_ag = F.relu(self.weight_list[l](adj_ag.bmm(outputs_ag)) / denom_ag)
            # * mutual Biaffine module
            A1 = F.softmax(torch.bmm(torch.matmul(gAxW_dep, self.affine1), gAxW_ag.transpose(1, 2)), dim=-1)
            A2 = F.softmax(torch.bmm(torch.matmul(gAxW_ag, self.affine2), gAxW_dep.transpose(1, 2)), dim=-1)
            outputs_dep, outputs_ag = torch.bmm(A1, gAxW_ag), torch.bmm(A2, gAxW_dep)
        return outputs_ag, outputs_dep, adj_ag


class DualGCNBertClassifier(nn.Module):
    def __init__(self, bert, opt):
        super().__init__()
        self.alpha = opt.alpha
        self.gcn = GCNBert(bert, opt)
        self.classifier = nn.Linear(opt.bert_dim, opt.polarities_dim)

    def forward(self, text_bert_indices, adj_dep, src_mask, aspect_mask):
        h1, h2, adj_ag = self.gcn(text_bert_indices, adj_dep, src_mask)
        asp_wn = aspect_mask.sum(dim=1).unsqueeze(-1)
        outputs = [(h * aspect_mask.unsqueeze(-1)).sum(dim=1) / asp_wn for h in (h1, h2)]
        ortho = adj_ag @ adj_ag.transpose(1, 2)
        penal = torch.norm(ortho - torch.eye(adj_ag.size(1))) / adj_ag.size(0)
        return self.classifier(torch.cat(outputs, dim=-1)), self.alpha * penal


# %%
model = DualGCNBertClassifier(nn.Embedding(100, opt.bert_dim), opt)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tokens, targets = torch.randint(0, 100, (4, 7)), torch.randint(0, 3, (4,))
adj_dep = (torch.rand(4, 7, 7) < 0.3).float()
src_mask, aspect_mask = torch.ones(4, 7), torch.ones(4, 7).tril(3).triu(2)

# %%
for step in range(3):
    optimizer.zero_grad()
    outputs, penal = model(tokens, adj_dep, src_mask, aspect_mask)
    loss = F.cross_entropy(outputs, targets) + penal
    loss.backward()
    optimizer.step()
    print(step, loss.item())
