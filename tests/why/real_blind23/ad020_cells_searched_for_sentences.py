# https://github.com/quark0/darts/issues/56
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

PRIMITIVES = ['none', 'tanh', 'relu', 'sigmoid', 'identity']
STEPS = 3


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.clone()
    else:
        return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[:nbatch * bsz].view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len]


class DARTSCellSearch(nn.Module):
    def __init__(self, ninp, nhid):
        super().__init__()
        self.nhid = nhid
        self._W0 = nn.Parameter(torch.empty(ninp + nhid, 2 * nhid).uniform_(-0.1, 0.1))
        self._Ws = nn.ParameterList(nn.Parameter(torch.empty(nhid, 2 * nhid).uniform_(-0.1, 0.1)) for _ in range(STEPS))

    def _compute_init_state(self, x, h_prev):
        c0, h0 = torch.cat([x, h_prev], dim=-1).mm(self._W0).chunk(2, dim=-1)
        return h_prev + c0.sigmoid() * (h0.tanh() - h_prev)

    def _activation(self, name, h):
        return {'tanh': torch.tanh, 'relu': F.relu, 'sigmoid': torch.sigmoid, 'identity': lambda x: x}[name](h)

    def cell(self, x, h_prev, probs):
        states = self._compute_init_state(x, h_prev).unsqueeze(0)
        offset = 0
        for i in range(STEPS):
            ch = states.view(-1, self.nhid).mm(self._Ws[i]).view(i + 1, -1, 2 * self.nhid)
            c, h = ch.chunk(2, dim=-1)
            c = c.sigmoid()
            s = 0
            for k, name in enumerate(PRIMITIVES):
                if name == 'none':
                    continue
                unweighted = states + c * (self._activation(name, h) - states)
                s = s + torch.sum(probs[offset:offset + i + 1, k].view(-1, 1, 1) * unweighted, dim=0)
            states = torch.cat([states, s.unsqueeze(0)], 0)
            offset += i + 1
        return torch.mean(states[-STEPS:], dim=0)

    def forward(self, inputs, hidden, weights):
        probs = F.softmax(weights, dim=-1)
        hiddens = []
        for x in inputs:
            hidden = self.cell(x, hidden, probs)
            hiddens.append(hidden)
        return torch.stack(hiddens), hidden


class RNNModelSearch(nn.Module):
    def __init__(self, ntoken, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, nhid)
        self.rnn = DARTSCellSearch(nhid, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid
        k = sum(i for i in range(1, STEPS + 1))
        self.weights = torch.randn(k, len(PRIMITIVES)).mul_(1e-3).requires_grad_()

    def init_hidden(self, bsz):
        return torch.zeros(bsz, self.nhid)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden, self.weights)
        return F.log_softmax(self.decoder(output), dim=-1), hidden

    def _loss(self, hidden, input, target):
        log_prob, hidden_next = self(input, hidden)
        return F.nll_loss(log_prob.flatten(0, 1), target.flatten()), hidden_next


# %%
corpus = torch.randint(0, 20, (600,))
train_data, search_data = batchify(corpus[:400], 8), batchify(corpus[400:], 4)
model = RNNModelSearch(20, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
arch_optimizer = torch.optim.Adam([model.weights], lr=3e-3, betas=(0.5, 0.999))
bptt = 7

# %%
hidden, hidden_valid = model.init_hidden(8), model.init_hidden(4)
for batch, i in enumerate(range(0, train_data.size(0) - 1 - 1, bptt)):
    data_valid, targets_valid = get_batch(search_data, i % (search_data.size(0) - 1), bptt)
    data, targets = get_batch(train_data, i, bptt)

    hidden = repackage_hidden(hidden)
    hidden_valid = repackage_hidden(hidden_valid)

    arch_optimizer.zero_grad()
    arch_loss, hidden_valid = model._loss(hidden_valid, data_valid, targets_valid)
    arch_loss.backward()
    arch_optimizer.step()

    optimizer.zero_grad()
    loss, hidden = model._loss(hidden, data, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    print(batch, loss.item(), arch_loss.item())
