# https://github.com/nishnik/Deep-Semantic-Similarity-Model-PyTorch/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
WORD_DEPTH, K, L, J = 30, 16, 8, 4


class CDSSM(nn.Module):
    def __init__(self):
        super(CDSSM, self).__init__()
        self.query_conv = nn.Conv1d(WORD_DEPTH, K, 1)
        self.query_sem = nn.Linear(K, L)
        self.doc_conv = nn.Conv1d(WORD_DEPTH, K, 1)
        self.doc_sem = nn.Linear(K, L)
        # learning gamma
        self.learn_gamma = nn.Conv1d(1, 1, 1)

    def semantics(self, conv, sem, x):
        c = torch.tanh(conv(x.transpose(1, 2)))
        pooled = c.max(dim=2)[0]
        return torch.tanh(sem(pooled))

    def forward(self, q, pos, negs):
        q_s = self.semantics(self.query_conv, self.query_sem, q)
        docs = [self.semantics(self.doc_conv, self.doc_sem, d) for d in [pos] + negs]
        # cosine similarity between the query and each document
        dots = torch.stack([F.cosine_similarity(q_s, d) for d in docs])
        with_gamma = self.learn_gamma(dots.view(J + 1, 1, 1)).view(J + 1)
        # finally, the softmax gives P(D+|Q)
        prob = F.softmax(with_gamma, dim=0)
        return prob


def make_sample(topic):
    def text(t, words):
        x = 0.1 * torch.rand(1, words, WORD_DEPTH)
        x[:, :, t * 5:t * 5 + 5] += 1.0
        return x
    others = [(topic + k) % 6 for k in range(1, J + 1)]
    return text(topic, 3), text(topic, 6), [text(t, 6) for t in others]


# %%
model = CDSSM()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
y = torch.zeros(1, dtype=torch.long)  # the positive document is the first

for epoch in range(60):
    for topic in range(6):
        q, pos, negs = make_sample(topic)
        y_pred = model(q, pos, negs)
        loss = criterion(y_pred.view(1, J + 1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 20 == 0:
        print(epoch, loss.item(), y_pred[0].item())
