# https://go-mk-websites.co.uk/post/the-loss-in-gnn-doesnt-decrease
import torch
import torch.nn as nn

torch.manual_seed(0)


def make_graph(num_node=34):
    group = torch.arange(num_node) % 2
    pairs = torch.combinations(torch.arange(num_node), 2)
    same = group[pairs[:, 0]] == group[pairs[:, 1]]
    chosen = torch.rand(len(pairs)) < torch.where(same, 0.3, 0.02)
    return pairs[chosen].t(), pairs[~chosen].t()


def create_node_emb(num_node=34, embedding_dim=16):
    emb = nn.Embedding(num_node, embedding_dim)
    emb.weight.data = torch.rand(num_node, embedding_dim)
    return emb


def accuracy(pred, label):
    return ((pred > 0.5).float() == label).float().mean().item()


def train(emb, loss_fn, sigmoid, train_label, train_edge):
    epochs = 200
    learning_rate = 0.1
    optimizer = torch.optim.SGD(emb.parameters(), lr=learning_rate, momentum=0.9)
    for i in range(epochs):
        emb.train()
        optimizer.zero_grad()
        node_list_fir, node_list_sec = train_edge[0], train_edge[1]
        emb_list_fir, emb_list_sec = emb(node_list_fir), emb(node_list_sec)
        emb_torch = torch.sum(emb_list_fir * emb_list_sec, dim=1)
        emb_torch = torch.round(sigmoid(emb_torch))
        loss = loss_fn(emb_torch, train_label)
        loss.backward()
        optimizer.step()
        if i % 50 == 0:
            print(i, loss.item(), accuracy(emb_torch, train_label))
    return loss


# %%
pos_edge, all_neg_edge = make_graph()
neg_edge = all_neg_edge[:, torch.randperm(all_neg_edge.shape[1])[: pos_edge.shape[1]]]
pos_label = torch.ones(pos_edge.shape[1])
neg_label = torch.zeros(neg_edge.shape[1])
train_label = torch.cat([pos_label, neg_label], dim=0)
train_edge = torch.cat([pos_edge, neg_edge], dim=1)

emb = create_node_emb()
loss = train(emb, nn.BCELoss(), nn.Sigmoid(), train_label, train_edge)
print("last", loss.item())
