# https://github.com/theeluwin/pytorch-sgns/issues/8
import numpy as np
import torch as t
import torch.nn as nn

t.manual_seed(0)
np.random.seed(0)


class Word2Vec(nn.Module):
    def __init__(self, vocab_size=21, embedding_size=16, padding_idx=0):
        super().__init__()
        self.ivectors = nn.Embedding(vocab_size, embedding_size, padding_idx=padding_idx)
        self.ovectors = nn.Embedding(vocab_size, embedding_size, padding_idx=padding_idx)
        for table in (self.ivectors, self.ovectors):
            start = t.empty(vocab_size, embedding_size).uniform_(-0.5 / embedding_size, 0.5 / embedding_size)
            start[padding_idx] = 0
            table.weight = nn.Parameter(start)

    def forward_i(self, data):
        return self.ivectors(data)

    def forward_o(self, data):
        return self.ovectors(data)


class SGNS(nn.Module):
    def __init__(self, embedding, vocab_size, n_negs=5, weights=None):
        super().__init__()
        self.embedding = embedding
        self.n_negs = n_negs
        wf = np.power(weights, 0.75)
        self.weights = t.tensor(wf / wf.sum(), dtype=t.float32)

    def forward(self, iword, owords):
        batch_size, context_size = owords.size()
        nwords = t.multinomial(self.weights, batch_size * context_size * self.n_negs, replacement=True)
        nwords = nwords.view(batch_size, -1)
        ivectors = self.embedding.forward_i(iword).unsqueeze(2)
        ovectors = self.embedding.forward_o(owords)
        nvectors = self.embedding.forward_o(nwords).neg()
        oloss = t.bmm(ovectors, ivectors).squeeze(2).sigmoid().log().mean(1)
        nloss = t.bmm(nvectors, ivectors).squeeze(2).sigmoid().log().view(-1, context_size, self.n_negs).sum(2).mean(1)
        return -(oloss + nloss).mean()


def skipgram(sentence, i, window=2):
    left = sentence[max(i - window, 0):i]
    right = sentence[i + 1:i + 1 + window]
    context = list(left) + list(right)
    return sentence[i], context + [0] * (2 * window - len(context))


# two topics of ten words each; no sentence mixes them
corpus = [np.random.randint(1, 11, 8) + 10 * (n % 2) for n in range(150)]
pairs = [skipgram(s, i) for s in corpus for i in range(len(s))]
centers = t.tensor([int(c) for c, _ in pairs])
contexts = t.tensor([[int(w) for w in ctx] for _, ctx in pairs])
counts = np.bincount(np.concatenate(corpus), minlength=21).astype(float)

# %%
model = Word2Vec()
sgns = SGNS(model, vocab_size=21, weights=counts)
optim = t.optim.Adam(sgns.parameters(), lr=0.01)
o_before = model.ovectors.weight.detach().clone()

# %%
losses = []
for epoch in range(10):
    for batch in t.randperm(len(centers)).split(64):
        loss = sgns(centers[batch], contexts[batch])
        optim.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
print(losses[0], losses[-1])

# %%
idx2vec = nn.functional.normalize(model.ivectors.weight.detach()[1:], dim=1)
cos = idx2vec @ idx2vec.t()
print(cos[:10, :10].mean().item(), cos[:10, 10:].mean().item())
assert losses[-1] < losses[0]
assert cos[:10, :10].mean() > cos[:10, 10:].mean() + 0.2
assert not model.ivectors.weight[0].any() and not model.ovectors.weight[0].any()
