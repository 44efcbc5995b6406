# https://github.com/bentrevett/pytorch-seq2seq/blob/main/4%20-%20Packed%20Padded%20Sequences%2C%20Masking%2C%20Inference%20and%20BLEU.ipynb
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

SEED = 1234
random.seed(SEED)
torch.manual_seed(SEED)
PAD, SOS, EOS, WORDS = 0, 1, 2, 10


class Encoder(nn.Module):
    def __init__(self, input_dim, emb_dim, enc_hid_dim, dec_hid_dim):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, emb_dim)
        self.rnn = nn.GRU(emb_dim, enc_hid_dim, bidirectional=True)
        self.fc = nn.Linear(enc_hid_dim * 2, dec_hid_dim)

    def forward(self, src, src_len):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(src), src_len)
        packed_outputs, hidden = self.rnn(packed)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(packed_outputs)
        return outputs, torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))


class Attention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim):
        super().__init__()
        self.attn = nn.Linear(enc_hid_dim * 2 + dec_hid_dim, dec_hid_dim)
        self.v = nn.Linear(dec_hid_dim, 1, bias=False)

    def forward(self, hidden, encoder_outputs, mask):
        hidden = hidden.unsqueeze(0).repeat(len(encoder_outputs), 1, 1)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        attention = self.v(energy).squeeze(2).t()
        return F.softmax(attention.masked_fill(mask == 0, -1e10), dim=1)


class Decoder(nn.Module):
    def __init__(self, output_dim, emb_dim, enc_hid_dim, dec_hid_dim, attention):
        super().__init__()
        self.attention, self.embedding = attention, nn.Embedding(output_dim, emb_dim)
        self.rnn = nn.GRUCell(enc_hid_dim * 2 + emb_dim, dec_hid_dim)
        self.fc_out = nn.Linear(enc_hid_dim * 2 + dec_hid_dim + emb_dim, output_dim)

    def forward(self, input, hidden, encoder_outputs, mask):
        embedded = self.embedding(input)
        a = self.attention(hidden, encoder_outputs, mask)
        weighted = torch.einsum('bs,sbh->bh', a, encoder_outputs)
        hidden = self.rnn(torch.cat((embedded, weighted), dim=1), hidden)
        return self.fc_out(torch.cat((hidden, weighted, embedded), dim=1)), hidden, a


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, src, src_len, trg, teacher_forcing_ratio=0.5):
        encoder_outputs, hidden = self.encoder(src, src_len)
        outputs = torch.zeros(len(trg), trg.size(1), self.decoder.fc_out.out_features)
        attentions = torch.zeros(len(trg), trg.size(1), len(src))
        mask, input = (src != PAD).t(), trg[0]
        for t in range(1, len(trg)):
            output, hidden, a = self.decoder(input, hidden, encoder_outputs, mask)
            outputs[t], attentions[t] = output, a.detach()
            input = trg[t] if random.random() < teacher_forcing_ratio else output.argmax(1)
        return outputs, attentions


def batch(n=64):
    """Rows of three to six words, the longest first; they are said backwards."""
    rows = sorted(([random.randrange(3, WORDS) for _ in range(random.randint(3, 6))] for _ in range(n)), key=len, reverse=True)
    pad = lambda rows: nn.utils.rnn.pad_sequence([torch.tensor(r) for r in rows], padding_value=PAD)
    return pad(rows), [len(r) for r in rows], pad([[SOS] + r[::-1] + [EOS] for r in rows])


# %%
attn = Attention(32, 48)
model = Seq2Seq(Encoder(WORDS, 24, 32, 48), Decoder(WORDS, 24, 32, 48, attn))
optimizer = optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
losses = []

# %%
model.train()
for i in range(220):
    src, src_len, trg = batch()
    optimizer.zero_grad()
    output, _ = model(src, src_len, trg)
    loss = criterion(output[1:].view(-1, WORDS), trg[1:].view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    src, src_len, trg = batch(200)
    output, attention = model(src, src_len, trg, 0)
    kept = trg[1:] != PAD
    hits = (output[1:].argmax(2)[kept] == trg[1:][kept]).float().mean().item()
print(losses[0], losses[-1], hits)
assert attention[1:, -1, src_len[-1]:].max() == 0  # nothing is seen in the padding
assert model.encoder.embedding.weight.grad[PAD].abs().max() == 0
assert losses[-1] < 0.4 * losses[0] and hits > 0.8
