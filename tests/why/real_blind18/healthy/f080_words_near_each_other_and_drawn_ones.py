# https://github.com/gutouyu/ML_CIA/blob/master/Embedding/code/pytorch-sgns/model.py
import numpy as np
import torch as t
import torch.nn as nn
from torch import FloatTensor as FT

t.manual_seed(0)
np.random.seed(0)


class Word2Vec(nn.Module):

    def __init__(self, vocab_size=20000, embedding_size=300, padding_idx=0):
        super(Word2Vec, self).__init__()
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.ivectors = nn.Embedding(self.vocab_size, self.embedding_size, padding_idx=padding_idx)
        self.ovectors = nn.Embedding(self.vocab_size, self.embedding_size, padding_idx=padding_idx)
        self.ivectors.weight = nn.Parameter(t.cat([t.zeros(1, self.embedding_size), FT(self.vocab_size - 1, self.embedding_size).uniform_(-0.5 / self.embedding_size, 0.5 / self.embedding_size)]))
        self.ovectors.weight = nn.Parameter(t.cat([t.zeros(1, self.embedding_size), FT(self.vocab_size - 1, self.embedding_size).uniform_(-0.5 / self.embedding_size, 0.5 / self.embedding_size)]))
        self.ivectors.weight.requires_grad = True
        self.ovectors.weight.requires_grad = True

    def forward(self, data):
        return self.forward_i(data)

    def forward_i(self, data):
        return self.ivectors(data)

    def forward_o(self, data):
        return self.ovectors(data)


class SGNS(nn.Module):

    def __init__(self, embedding, vocab_size=20000, n_negs=20, weights=None):
        super(SGNS, self).__init__()
        self.embedding = embedding
        self.vocab_size = vocab_size
        self.n_negs = n_negs
        self.weights = None
        if weights is not None:
            wf = np.power(weights, 0.75)
            wf = wf / wf.sum()
            self.weights = FT(wf)

    def forward(self, iword, owords):
        batch_size = iword.size()[0]
        context_size = owords.size()[1]
        if self.weights is not None:
            nwords = t.multinomial(self.weights, batch_size * context_size * self.n_negs, replacement=True).view(batch_size, -1)
        else:
            nwords = FT(batch_size, context_size * self.n_negs).uniform_(0, self.vocab_size - 1).long()
        ivectors = self.embedding.forward_i(iword).unsqueeze(2)
        ovectors = self.embedding.forward_o(owords)
        nvectors = self.embedding.forward_o(nwords).neg()
        oloss = t.bmm(ovectors, ivectors).squeeze().sigmoid().log().mean(1)
        nloss = t.bmm(nvectors, ivectors).squeeze().sigmoid().log().view(-1, context_size, self.n_negs).sum(2).mean(1)
        return -(oloss + nloss).mean()


def neighbours(n, window=2):
    """Words come in four circles of five; a text stays in one of them."""
    circle = np.random.randint(0, 4, (n, 1))
    words = 1 + 5 * circle + np.random.randint(0, 5, (n, 2 * window + 1))
    words[:, -1] = np.where(np.random.rand(n) < 0.1, 0, words[:, -1])  # the end of a text
    return t.from_numpy(words[:, 0]), t.from_numpy(words[:, 1:])


# %%
vocab_size = 21
frequency = np.array([0.02] + [1.0] * 20)
word2vec = Word2Vec(vocab_size=vocab_size, embedding_size=12)
sgns = SGNS(embedding=word2vec, vocab_size=vocab_size, n_negs=5, weights=frequency)
optim = t.optim.Adam(sgns.parameters(), lr=0.02)

# %%
losses = []
for batch in range(150):
    iword, owords = neighbours(128)
    loss = sgns(iword, owords)
    optim.zero_grad()
    loss.backward()
    optim.step()
    losses.append(loss.item())

# %%
vectors = nn.functional.normalize(word2vec.ivectors.weight.data[1:], dim=1)
nearest = (vectors @ vectors.t() - 2 * t.eye(20)).argmax(1)
same_circle = (nearest // 5 == t.arange(20) // 5).float().mean().item()
padding = word2vec.ivectors.weight[0].abs().max().item(), word2vec.ovectors.weight[0].abs().max().item()
print(losses[0], losses[-1], same_circle, padding)
assert same_circle > 0.9 and padding == (0.0, 0.0) and losses[-1] < 0.8 * losses[0]
