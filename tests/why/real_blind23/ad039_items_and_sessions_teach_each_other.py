# https://github.com/xiaxin1998/COTREC/issues/15
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import Module

torch.manual_seed(0)


class ItemConv(Module):
    def __init__(self, layers, emb_size=16):
        super(ItemConv, self).__init__()
        self.emb_size = emb_size
        self.layers = layers
        self.w_item = {}
        for i in range(self.layers):
            self.w_item['weight_item%d' % (i)] = nn.Linear(self.emb_size, self.emb_size, bias=False)

    def forward(self, adjacency, embedding):
        item_embeddings = embedding
        final = [item_embeddings]
        for i in range(self.layers):
            item_embeddings = self.w_item['weight_item%d' % (i)](item_embeddings)
            item_embeddings = torch.sparse.mm(adjacency, item_embeddings)
            final.append(F.normalize(item_embeddings, dim=-1, p=2))
        item_embeddings = sum(final) / (self.layers + 1)
        return item_embeddings


class CoT(Module):
    def __init__(self, adjacency, n_node, lr, layers, emb_size=16, batch_size=8):
        super(CoT, self).__init__()
        self.emb_size = emb_size
        self.batch_size = batch_size
        self.n_node = n_node
        self.lr = lr
        self.layers = layers
        self.w_k = 10
        self.adjacency = adjacency
        self.embedding = nn.Embedding(self.n_node, self.emb_size)
        self.pos_embedding = nn.Embedding(20, self.emb_size)
        self.ItemGraph = ItemConv(self.layers, emb_size)
        self.w_1 = nn.Parameter(torch.Tensor(2 * self.emb_size, self.emb_size))
        self.w_2 = nn.Parameter(torch.Tensor(self.emb_size, 1))
        self.glu1 = nn.Linear(self.emb_size, self.emb_size)
        self.glu2 = nn.Linear(self.emb_size, self.emb_size, bias=False)
        self.loss_function = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        self.init_parameters()

    def init_parameters(self):
        stdv = 1.0 / math.sqrt(self.emb_size)
        for weight in self.parameters():
            weight.data.uniform_(-stdv, stdv)

    def generate_sess_emb(self, item_embedding, session_len, reversed_sess_item, mask):
        zeros = torch.zeros(1, self.emb_size)
        item_embedding = torch.cat([zeros, item_embedding], 0)
        seq_h = item_embedding[reversed_sess_item]
        hs = torch.div(torch.sum(seq_h, 1), session_len)
        mask = mask.float().unsqueeze(-1)
        len = seq_h.shape[1]
        pos_emb = self.pos_embedding.weight[:len]
        pos_emb = pos_emb.unsqueeze(0).repeat(self.batch_size, 1, 1)
        hs = hs.unsqueeze(-2).repeat(1, len, 1)
        nh = torch.matmul(torch.cat([pos_emb, seq_h], -1), self.w_1)
        nh = torch.tanh(nh)
        nh = torch.sigmoid(self.glu1(nh) + self.glu2(hs))
        beta = torch.matmul(nh, self.w_2)
        beta = beta * mask
        return torch.sum(beta * seq_h, 1)

    def forward(self, session_len, reversed_sess_item, mask, tar):
        item_embeddings_i = self.ItemGraph(self.adjacency, self.embedding.weight)
        sess_emb_i = self.generate_sess_emb(item_embeddings_i, session_len, reversed_sess_item, mask)
        sess_emb_i = self.w_k * F.normalize(sess_emb_i, dim=-1, p=2)
        item_embeddings_i = F.normalize(item_embeddings_i, dim=-1, p=2)
        scores_item = torch.mm(sess_emb_i, torch.transpose(item_embeddings_i, 1, 0))
        return self.loss_function(scores_item, tar), scores_item


# %%
n_node, n_sessions, length = 30, 40, 6
adj = (torch.rand(n_node, n_node) < 0.2).float() + torch.eye(n_node)
adjacency = (adj / adj.sum(1, keepdim=True)).to_sparse()
sessions = torch.randint(1, n_node + 1, (n_sessions, length))
lens = torch.randint(2, length + 1, (n_sessions, 1))
mask = torch.arange(length) < lens
sessions = sessions * mask
tar = sessions[:, 0] - 1
model = CoT(adjacency, n_node, lr=0.01, layers=2)
before = [w.weight.detach().clone() for w in model.ItemGraph.w_item.values()]

# %%
for epoch in range(5):
    total_loss = 0.0
    for i in range(0, n_sessions, model.batch_size):
        sl = slice(i, i + model.batch_size)
        model.zero_grad()
        loss, scores = model(lens[sl], sessions[sl], mask[sl], tar[sl])
        loss.backward()
        model.optimizer.step()
        total_loss += loss.item()
    print('Loss: %.3f' % total_loss)
