# https://github.com/LiyuanLucasLiu/LM-LSTM-CRF/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LSTMTagger(nn.Module):
    def __init__(self, vocab_size=60, tagset_size=5, embedding_dim=16, hidden_dim=24):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.batch_size = 1
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.dropout1 = nn.Dropout(p=0.3)
        self.linear = nn.Linear(hidden_dim, tagset_size)
        self.hidden = self.rand_init_hidden()

    def rand_init_hidden(self):
        """
        random initialize hidden variable
        """
        return torch.randn(2, self.batch_size, self.hidden_dim // 2), torch.randn(2, self.batch_size, self.hidden_dim // 2)

    def set_batch_size(self, bsize):
        self.batch_size = bsize

    def forward(self, sentence, hidden=None):
        self.set_batch_size(sentence.size(1))
        embeds = self.word_embeds(sentence)
        d_embeds = self.dropout1(embeds)
        lstm_out, hidden = self.lstm(d_embeds, hidden)
        return self.linear(self.dropout1(lstm_out)), hidden


# %%
ner_model = LSTMTagger()
optimizer = torch.optim.SGD(ner_model.parameters(), lr=0.3, momentum=0.9)
sentences = torch.randint(0, 60, (9, 20))
tags = sentences % 5

losses = []
for epoch_idx in range(12):
    ner_model.train()
    for start in range(0, 20, 10):
        optimizer.zero_grad()
        scores, hidden = ner_model(sentences[:, start:start + 10])
        loss = F.cross_entropy(scores.reshape(-1, 5), tags[:, start:start + 10].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(ner_model.parameters(), 5.0)
        optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
