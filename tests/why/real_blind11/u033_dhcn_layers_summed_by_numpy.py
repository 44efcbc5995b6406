# https://github.com/xiaxin1998/DHCN/issues/8
import math

import numpy as np
import torch
from torch import nn
from torch.nn import Module, Parameter

torch.manual_seed(0)


class HyperConv(Module):
    def __init__(self, layers, emb_size=100):
        super(HyperConv, self).__init__()
        self.emb_size = emb_size
        self.layers = layers

    def forward(self, adjacency, embedding):
        item_embeddings = embedding
        final = [item_embeddings]
        for i in range(self.layers):
            item_embeddings = torch.sparse.mm(adjacency, item_embeddings)
            final.append(item_embeddings)
        item_embeddings = np.sum(final, 0)
        return item_embeddings


class DHCN(Module):
    def __init__(self, adjacency, n_node, lr, layers, emb_size=32):
        super(DHCN, self).__init__()
        self.adjacency = adjacency
        self.emb_size = emb_size
        self.embedding = nn.Embedding(n_node, emb_size)
        self.HyperGraph = HyperConv(layers, emb_size)
        self.glu = nn.Linear(emb_size, emb_size)
        self.loss_function = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        self.init_parameters()

    def init_parameters(self):
        stdv = 1.0 / math.sqrt(self.emb_size)
        for weight in self.parameters():
            weight.data.uniform_(-stdv, stdv)

    def forward(self, session_item):
        item_embeddings_hg = self.HyperGraph(self.adjacency, self.embedding.weight)
        sess_emb_hgnn = torch.tanh(self.glu(item_embeddings_hg[session_item].mean(1)))
        return item_embeddings_hg, sess_emb_hgnn


# %%
n_node = 30
dense = (torch.rand(n_node, n_node) < 0.2).float()
adjacency = (dense / dense.sum(1, keepdim=True).clamp(min=1)).to_sparse()
model = DHCN(adjacency, n_node, lr=0.001, layers=3)
session_item, tar = torch.randint(0, n_node, (16, 5)), torch.randint(0, n_node, (16,))
scores = None

# %%
for i in range(2):
    model.zero_grad()
    item_emb_hg, sess_emb_hgnn = model(session_item)
    scores = torch.mm(sess_emb_hgnn, torch.transpose(item_emb_hg, 1, 0))
    loss = model.loss_function(scores + 1e-8, tar)
    loss.backward()
    model.optimizer.step()
    print(i, loss.item())
