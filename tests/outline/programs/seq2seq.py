import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Enc(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(50, 32)
        s.r = nn.GRU(32, 64, batch_first=True, bidirectional=True)
        s.fc = nn.Linear(128, 64)

    def forward(s, x):
        o, h = s.r(s.e(x))
        return o, torch.tanh(s.fc(torch.cat([h[0], h[1]], 1)))


class Attn(nn.Module):
    def __init__(s):
        super().__init__()
        s.w = nn.Linear(192, 64)
        s.v = nn.Linear(64, 1, bias=False)

    def forward(s, h, o):
        return F.softmax(
            s.v(
                torch.tanh(s.w(torch.cat([h.unsqueeze(1).expand(-1, o.size(1), -1), o], 2)))
            ).squeeze(2),
            1,
        )


class Dec(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(50, 32)
        s.a = Attn()
        s.r = nn.GRUCell(160, 64)
        s.out = nn.Linear(64 + 128 + 32, 50)

    def forward(s, t, h, o):
        e = s.e(t)
        c = (s.a(h, o).unsqueeze(1) @ o).squeeze(1)
        h = s.r(torch.cat([e, c], 1), h)
        return s.out(torch.cat([h, c, e], 1)), h


enc, dec = Enc(), Dec()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
src, trg = torch.randint(0, 50, (4, 9)), torch.randint(0, 50, (4, 7))
# %% the recorded cell
o, h = enc(src)
t = trg[:, 0]
outs = []
for i in range(1, 7):
    logit, h = dec(t, h, o)
    outs.append(logit)
    t = trg[:, i] if i % 2 else logit.argmax(1)
loss = F.cross_entropy(torch.stack(outs, 1).reshape(-1, 50), trg[:, 1:].reshape(-1))
opt.zero_grad()
loss.backward()
nn.utils.clip_grad_norm_(enc.parameters(), 1.0)
opt.step()
