# https://github.com/OpenNMT/OpenNMT-py/issues/1148
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
trunc_size, vocab, pad = 4, 20, 0


class RNNDecoderState:
    def __init__(self, rnnstate):
        self.hidden = rnnstate if isinstance(rnnstate, tuple) else (rnnstate,)

    @property
    def _all(self):
        return self.hidden

    def detach(self):
        for h in self._all:
            h.detach_()


class NMTModel(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.src_emb = nn.Embedding(vocab, size, padding_idx=pad)
        self.tgt_emb = nn.Embedding(vocab, size, padding_idx=pad)
        self.encoder = nn.LSTM(size, size)
        self.decoder = nn.LSTM(size, size)
        self.linear_out = nn.Linear(2 * size, size)
        self.generator = nn.Linear(size, vocab)

    def forward(self, src, tgt, dec_state=None):
        memory_bank, enc_final = self.encoder(self.src_emb(src))
        if dec_state is None:
            dec_state = RNNDecoderState(enc_final)
        output, hidden = self.decoder(self.tgt_emb(tgt), dec_state.hidden)
        align = torch.einsum('tbh,sbh->tbs', output, memory_bank).softmax(-1)
        context = torch.einsum('tbs,sbh->tbh', align, memory_bank)
        attn_h = torch.tanh(self.linear_out(torch.cat([context, output], -1)))
        return self.generator(attn_h), RNNDecoderState(hidden)


# %%
model = NMTModel()
optim = torch.optim.Adam(model.parameters(), lr=1e-2)
batches = []
for _ in range(4):
    src = torch.randint(2, vocab, (12, 8))
    tgt = torch.cat([torch.ones(1, 8, dtype=torch.long), src])  # <s> and a copy
    batches.append((src, tgt))

# %%
report = []
for epoch in range(12):
    total = 0.
    for src, tgt_outer in batches:
        dec_state = None
        target_size = tgt_outer.size(0)
        for j in range(0, target_size - 1, trunc_size):
            tgt = tgt_outer[j: j + trunc_size + 1]
            model.zero_grad()
            scores, dec_state = model(src, tgt[:-1], dec_state)
            loss = F.cross_entropy(scores.view(-1, vocab), tgt[1:].reshape(-1), ignore_index=pad)
            loss.backward()
            optim.step()
            total += loss.item()
            # If truncated, don't backprop fully.
            if dec_state is not None:
                dec_state.detach()
    report.append(total)
print(report)
assert report[-1] < 0.8 * report[0]
assert not dec_state.hidden[0].requires_grad
assert model.decoder.weight_hh_l0.grad.abs().sum() > 0 and model.encoder.weight_ih_l0.grad.abs().sum() > 0
