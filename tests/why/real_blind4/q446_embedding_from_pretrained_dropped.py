# https://github.com/fenchri/edge-oriented-graph/issues/12
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class EmbedLayer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, dropout, ignore=None, freeze=False, pretrained=None, mapping=None):
        """
        Args:
            num_embeddings: (tensor) number of unique items
            embedding_dim: (int) dimensionality of vectors
            dropout: (float) dropout rate
            trainable: (bool) train or not
            pretrained: (dict) pretrained embeddings
            mapping: (dict) mapping of items to unique ids
        """
        super(EmbedLayer, self).__init__()
        self.embedding_dim = embedding_dim
        self.num_embeddings = num_embeddings
        self.freeze = freeze
        self.ignore = ignore
        self.embedding = nn.Embedding(num_embeddings=num_embeddings, embedding_dim=embedding_dim, padding_idx=ignore)
        self.embedding.weight.requires_grad = not freeze
        if pretrained:
            self.load_pretrained(pretrained, mapping)
        self.drop = nn.Dropout(dropout)

    def load_pretrained(self, pretrained, mapping):
        """
        Args:
            weights: (dict) keys are words, values are vectors
            mapping: (dict) keys are words, values are unique ids
        """
        pret_embeds = torch.FloatTensor(np.array([pretrained[w] for w in mapping]))
        self.embedding.from_pretrained(pret_embeds, freeze=self.freeze)

    def forward(self, xs):
        embeds = self.embedding(xs)
        if self.drop.p > 0:
            embeds = self.drop(embeds)
        return embeds


class EOG(nn.Module):
    def __init__(self, params, pret_embeds, word2id):
        super(EOG, self).__init__()
        self.word_embed = EmbedLayer(len(word2id), 8, dropout=0.0, ignore=None, freeze=params['freeze_words'],
                                     pretrained=pret_embeds, mapping=word2id)
        self.encoder = nn.LSTM(8, 6, bidirectional=True, batch_first=True)
        self.classifier = nn.Linear(12, 3)

    def forward(self, words):
        output, _ = self.encoder(self.word_embed(words))
        return self.classifier(output.mean(1))


# %%
word2id = {'word%d' % i: i for i in range(20)}
vectors = {w: np.random.randn(8) for w in word2id}
pret_embeds = torch.FloatTensor(np.array([vectors[w] for w in word2id]))
model = EOG({'freeze_words': False}, vectors, word2id)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
start = model.word_embed.embedding.weight.detach().clone()

for epoch in range(3):
    words, target = torch.randint(20, (4, 7)), torch.randint(3, (4,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(words), target)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), (start - pret_embeds).abs().max().item())
