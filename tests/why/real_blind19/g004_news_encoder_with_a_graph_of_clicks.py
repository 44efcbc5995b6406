# https://github.com/Veason-silverbullet/NNR/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GCNLayer(nn.Module):
    def __init__(self, dim, residual=True):
        super().__init__()
        self.W = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.residual = residual

    def forward(self, feature, graph):
        neighbours = graph @ feature
        out = F.relu(self.norm(self.W(neighbours)))
        if self.residual:
            out += feature
        return out


class GCN(nn.Module):
    def __init__(self, dim, num_layers):
        super().__init__()
        self.gcn_layers = nn.ModuleList(GCNLayer(dim) for _ in range(num_layers))

    def forward(self, feature, graph):
        for gcn_layer in self.gcn_layers:
            feature = gcn_layer(feature, graph)
        return feature


class CandidateAttention(nn.Module):
    def __init__(self, dim, attention_dim):
        super().__init__()
        self.key, self.query = nn.Linear(dim, attention_dim, bias=False), nn.Linear(dim, attention_dim)
        self.score = nn.Linear(attention_dim, 1, bias=False)

    def forward(self, news, candidate):
        a = self.score(torch.tanh(self.key(news) + self.query(candidate)[:, None]))
        return (a.softmax(dim=1) * news).sum(dim=1)


class Model(nn.Module):
    def __init__(self, vocabulary_size=200, news_dim=32):
        super(Model, self).__init__()
        self.word_embedding = nn.Embedding(vocabulary_size, news_dim)
        self.dropout = nn.Dropout(0.2)
        self.gcn = GCN(news_dim, num_layers=2)
        self.attention = CandidateAttention(news_dim, 16)

    def encode_news(self, titles):
        return self.dropout(self.word_embedding(titles)).mean(dim=-2)

    def forward(self, history, graph, candidates):
        history_news = self.gcn(self.encode_news(history), graph)
        candidate_news = self.encode_news(candidates)
        user = torch.stack([self.attention(history_news, candidate_news[:, i])
                            for i in range(candidates.size(1))], dim=1)
        return (user * candidate_news).sum(dim=2)


# %%
batch_size, history_num, title_len, negative_sample_num = 8, 6, 10, 4
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
graph = torch.rand(batch_size, history_num, history_num)
graph = graph / graph.sum(dim=2, keepdim=True)

# %%
model.train()
for e in range(3):
    history = torch.randint(0, 200, (batch_size, history_num, title_len))
    candidates = torch.randint(0, 200, (batch_size, 1 + negative_sample_num, title_len))
    logits = model(history, graph, candidates)
    loss = (-torch.log_softmax(logits, dim=1).select(dim=1, index=0)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 4)
    optimizer.step()
    print('Epoch %d : train loss = %.4f' % (e, loss.item()))
