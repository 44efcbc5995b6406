import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self, v=60, d=32):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.LSTM(d, d, 2, dropout=0.2)
        self.out = nn.Linear(d, v)
        self.out.weight = self.emb.weight

    def forward(self, x, h):
        o, h = self.rnn(self.emb(x), h)
        return self.out(o), h


lm = LM()
opt = torch.optim.SGD(lm.parameters(), 1.0)
data = torch.randint(0, 60, (200, 4))
# %% the recorded cell
h = (torch.zeros(2, 4, 32), torch.zeros(2, 4, 32))
total = 0
for i in range(0, 140, 35):
    x, y = data[i : i + 35], data[i + 1 : i + 36]
    h = tuple(s.detach() for s in h)
    opt.zero_grad()
    out, h = lm(x, h)
    loss = F.cross_entropy(out.view(-1, 60), y.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 0.25)
    opt.step()
    total += loss
