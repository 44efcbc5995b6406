# https://github.com/salesforce/awd-lstm-lm/blob/master/main.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1111)


class WeightDrop(nn.Module):
    def __init__(self, module, weights, dropout=0.5):
        super().__init__()
        self.module, self.weights, self.dropout = module, weights, dropout
        for name_w in self.weights:
            w = getattr(self.module, name_w)
            del self.module._parameters[name_w]
            self.module.register_parameter(name_w + "_raw", nn.Parameter(w.data))

    def forward(self, x, hidden):
        for name_w in self.weights:
            raw_w = getattr(self.module, name_w + "_raw")
            setattr(self.module, name_w, F.dropout(raw_w, p=self.dropout, training=self.training))
        return self.module(x, hidden)


class RNNCell(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight_ih, self.weight_hh = (
            nn.Parameter(torch.randn(n, n) * 0.1),
            nn.Parameter(torch.randn(n, n) * 0.1),
        )

    def forward(self, x, h):
        outs = []
        for t in range(x.size(0)):
            h = torch.tanh(x[t] @ self.weight_ih.t() + h @ self.weight_hh.t())
            outs.append(h)
        return torch.stack(outs), h


class RNNModel(nn.Module):
    def __init__(self, ntoken=15, ninp=8):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnns = nn.ModuleList([WeightDrop(RNNCell(ninp), ["weight_hh"]) for _ in range(2)])
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        self.encoder.weight.data.uniform_(-0.1, 0.1)
        self.decoder.bias.data.fill_(0)

    def forward(self, input, hidden):
        raw_output, new_hidden, raw_outputs, outputs = self.encoder(input), [], [], []
        for l, rnn in enumerate(self.rnns):
            raw_output, new_h = rnn(raw_output, hidden[l])
            new_hidden.append(new_h)
            raw_outputs.append(raw_output)
            raw_output = F.dropout(raw_output, 0.4, self.training)
            outputs.append(raw_output)
        return self.decoder(raw_output), new_hidden, raw_outputs, outputs

    def init_hidden(self, bsz):
        return [torch.zeros(bsz, 8) for _ in self.rnns]


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


model = RNNModel()
params = list(model.parameters())
optimizer = torch.optim.SGD(params, lr=1.0, weight_decay=1.2e-6)
criterion = nn.CrossEntropyLoss()
before = model.rnns[0].module.weight_hh_raw.detach().clone()

# %%
total_loss, hidden = 0, model.init_hidden(4)
for batch in range(3):
    lr2 = optimizer.param_groups[0]["lr"]
    optimizer.param_groups[0]["lr"] = lr2 * 5 / 6
    model.train()
    data, targets = torch.randint(0, 15, (6, 4)), torch.randint(0, 15, (24,))
    hidden = repackage_hidden(hidden)
    optimizer.zero_grad()
    output, hidden, rnn_hs, dropped_rnn_hs = model(data, hidden)
    raw_loss = criterion(output.view(-1, 15), targets)
    loss = raw_loss
    loss = loss + sum(2 * dropped_rnn_h.pow(2).mean() for dropped_rnn_h in dropped_rnn_hs[-1:])
    loss = loss + sum(1 * (rnn_h[1:] - rnn_h[:-1]).pow(2).mean() for rnn_h in rnn_hs[-1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.25)
    optimizer.step()
    total_loss += raw_loss.data
    optimizer.param_groups[0]["lr"] = lr2
    print(total_loss.item() / (batch + 1))
model.eval()
with torch.no_grad():
    val_loss = criterion(model(data, model.init_hidden(4))[0].view(-1, 15), targets)
