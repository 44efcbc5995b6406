# https://github.com/LiyuanLucasLiu/LD-Net/issues/6
import torch
import torch.nn as nn

torch.manual_seed(0)


def repackage_hidden(h):
    """Wraps hidden states in new Variables, to detach them from their history"""
    if torch.is_tensor(h):
        return h.detach()
    else:
        return tuple(repackage_hidden(v) for v in h)


class BasicUnit(nn.Module):
    def __init__(self, unit, input_dim, hid_dim):
        super(BasicUnit, self).__init__()
        self.layer = getattr(nn, unit)(input_dim, hid_dim, 1)
        self.output_dim = input_dim + hid_dim
        self.init_hidden()

    def init_hidden(self):
        self.hidden_state = None

    def forward(self, x):
        out, new_hidden = self.layer(x, self.hidden_state)
        self.hidden_state = repackage_hidden(new_hidden)
        return torch.cat([x, out], 2)


class DenseRNN(nn.Module):
    def __init__(self, layer_num, unit, emb_dim, hid_dim):
        super(DenseRNN, self).__init__()
        units = []
        for _ in range(layer_num):
            units.append(BasicUnit(unit, emb_dim, hid_dim))
            emb_dim = units[-1].output_dim
        self.layer = nn.Sequential(*units)
        self.output_dim = emb_dim

    def init_hidden(self):
        for tup in self.layer.children():
            tup.init_hidden()

    def forward(self, x):
        return self.layer(x)


class LM(nn.Module):
    def __init__(self, w_num=30, w_dim=8, hid_dim=6):
        super(LM, self).__init__()
        self.word_embed = nn.Embedding(w_num, w_dim)
        self.rnn = DenseRNN(2, 'LSTM', w_dim, hid_dim)
        self.project = nn.Linear(self.rnn.output_dim, w_num)
        self.hidden = None

    def init_hidden(self):
        self.rnn.init_hidden()

    def forward(self, w_in, target):
        w_emb = self.word_embed(w_in)
        out = self.rnn(w_emb).contiguous()
        return nn.functional.cross_entropy(self.project(out).flatten(0, 1), target.flatten())


# %%
lm = LM()
optimizer = torch.optim.SGD(lm.parameters(), lr=0.5)
text = torch.arange(30).repeat(9)[:241].view(-1, 1)
seq_len = 20

for epoch in range(2):
    lm.init_hidden()
    for start in range(0, len(text) - 1, seq_len):
        w_in, label = text[start:start + seq_len], text[start + 1:start + 1 + seq_len]
        lm.zero_grad()
        loss = lm(w_in, label)
        loss.backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 5.0)
        optimizer.step()
    print(epoch, loss.item())
