# https://github.com/pytorch/examples/issues/846
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super(PositionalEncoding, self).__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return self.dropout(x + self.pe[:x.size(0), :])


class TransformerModel(nn.Module):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.2):
        super(TransformerModel, self).__init__()
        self.src_mask = None
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        encoder_layers = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout)
        self.transformer_encoder = nn.TransformerEncoder(encoder_layers, nlayers)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)
        self.init_weights()

    def _generate_square_subsequent_mask(self, sz):
        mask = (torch.triu(torch.ones(sz, sz)) == 1).transpose(0, 1)
        return mask.float().masked_fill(mask == 0, float('-inf')).masked_fill(mask == 1, float(0.0))

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, src, has_mask=True):
        if has_mask:
            self.src_mask = self._generate_square_subsequent_mask(len(src))
        else:
            self.src_mask = None
        src = self.pos_encoder(self.encoder(src) * math.sqrt(self.ninp))
        output = self.transformer_encoder(src, self.src_mask)
        return F.log_softmax(self.decoder(output), dim=-1)


# %%
# sentences of a small grammar, with commas between the words
words = [",", "the", "cat", "dog", "sees", "hears", "a", "bird", "fish", "."]
sentence = torch.tensor([1, 2, 0, 4, 0, 6, 7, 0, 9, 1, 3, 0, 5, 0, 6, 8, 0, 9])
bptt, batch_size = 18, 16


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


train_data = batchify(sentence.repeat(400), batch_size)
ntokens = len(words)
model = TransformerModel(ntokens, 32, 2, 64, 2)
criterion = nn.NLLLoss()

# %%
lr, clip = 20, 0.25


def train():
    model.train()
    total_loss, batches = 0., range(0, train_data.size(0) - 1, bptt)
    for i in batches:
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        output = model(data).view(-1, ntokens)
        loss = criterion(output, targets)
        loss.backward()

        # `clip_grad_norm` helps prevent the exploding gradient problem in RNNs / LSTMs.
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    return total_loss / len(batches)


for epoch in range(1, 7):
    print('epoch', epoch, 'loss {:5.2f}'.format(train()))

# %%
# Generate
model.eval()
input = torch.tensor([[1], [2]])
with torch.no_grad():
    for i in range(12):
        output = model(input, False)
        word_weights = output[-1].squeeze().exp()
        word_idx = torch.argmax(word_weights).item()
        input = torch.cat([input, torch.tensor([[word_idx]])], 0)
generated = [words[i] for i in input[2:, 0].tolist()]
print(" ".join(generated))
