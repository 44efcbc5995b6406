# https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAD, BOS, EOS, n_vocab, d_model, max_len = 0, 1, 2, 18, 32, 12


class ScheduledOptim:
    '''A simple wrapper class for learning rate scheduling'''
    def __init__(self, optimizer, lr_mul, d_model, n_warmup_steps):
        self._optimizer, self.lr_mul = optimizer, lr_mul
        self.d_model, self.n_warmup_steps, self.n_steps = d_model, n_warmup_steps, 0

    def step_and_update_lr(self):
        self.n_steps += 1
        scale = min(self.n_steps ** (-0.5), self.n_steps * self.n_warmup_steps ** (-1.5))
        for param_group in self._optimizer.param_groups:
            param_group['lr'] = self.lr_mul * (self.d_model ** -0.5) * scale
        self._optimizer.step()

    def zero_grad(self):
        self._optimizer.zero_grad()


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_word_emb = nn.Embedding(n_vocab, d_model, padding_idx=PAD)
        self.trg_word_emb = nn.Embedding(n_vocab, d_model, padding_idx=PAD)
        self.register_buffer('pos_table', self._sinusoid())
        self.core = nn.Transformer(d_model, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.trg_word_prj = nn.Linear(d_model, n_vocab, bias=False)

    @staticmethod
    def _sinusoid():
        pos = torch.arange(max_len)[:, None] / 10000 ** (2 * (torch.arange(d_model) // 2) / d_model)
        return torch.where(torch.arange(d_model) % 2 == 0, pos.sin(), pos.cos())

    def forward(self, src_seq, trg_seq):
        src = self.src_word_emb(src_seq) + self.pos_table[:src_seq.size(1)]
        trg = self.trg_word_emb(trg_seq) + self.pos_table[:trg_seq.size(1)]
        later = torch.triu(torch.ones(trg_seq.size(1), trg_seq.size(1), dtype=torch.bool), 1)
        dec_output = self.core(src, trg, tgt_mask=later, src_key_padding_mask=src_seq == PAD,
                               tgt_key_padding_mask=trg_seq == PAD, memory_key_padding_mask=src_seq == PAD)
        return self.trg_word_prj(dec_output)


def cal_loss(pred, gold, smoothing=0.1):
    one_hot = torch.zeros_like(pred).scatter(1, gold.view(-1, 1), 1)
    one_hot = one_hot * (1 - smoothing) + (1 - one_hot) * smoothing / (pred.size(1) - 1)
    loss = -(one_hot * F.log_softmax(pred, dim=1)).sum(dim=1)
    return loss.masked_select(gold.ne(PAD)).sum()


# %%
pairs = []
for _ in range(48):
    words = torch.randint(3, n_vocab, (int(torch.randint(4, 9, (1,))),))
    src = torch.full((max_len,), PAD)
    trg = torch.full((max_len,), PAD)
    src[:len(words)] = words
    trg[:len(words) + 2] = torch.cat([torch.tensor([BOS]), words, torch.tensor([EOS])])
    pairs.append((src, trg))
src_all, trg_all = (torch.stack(side) for side in zip(*pairs))
transformer = Transformer()
optimizer = ScheduledOptim(torch.optim.Adam(transformer.parameters(), betas=(0.9, 0.98), eps=1e-09), 0.5, d_model, 30)

# %%
per_word = []
for epoch in range(60):
    total_loss, n_word_total = 0, 0
    for batch in torch.randperm(48).split(24):
        src_seq = src_all[batch]
        trg_seq, gold = trg_all[batch][:, :-1], trg_all[batch][:, 1:].contiguous().view(-1)
        optimizer.zero_grad()
        pred = transformer(src_seq, trg_seq)
        loss = cal_loss(pred.view(-1, n_vocab), gold)
        loss.backward()
        optimizer.step_and_update_lr()
        n_word_total += gold.ne(PAD).sum().item()
        total_loss += loss.item()
    per_word.append(total_loss / n_word_total)
print(per_word[0], per_word[-1])
assert per_word[-1] < 0.6 * per_word[0]
assert transformer.trg_word_emb.weight.grad[PAD].abs().sum() == 0
assert transformer.src_word_emb.weight.grad.abs().sum() > 0
