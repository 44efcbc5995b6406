# https://github.com/salesforce/awd-lstm-lm/issues/48
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SplitCrossEntropyLoss(nn.Module):
    def __init__(self, hidden_size, splits, verbose=False):
        super(SplitCrossEntropyLoss, self).__init__()
        self.hidden_size = hidden_size
        self.splits = [0] + splits + [100 * 1000000]
        self.nsplits = len(self.splits) - 1

    def forward(self, weight, bias, hiddens, targets, verbose=False):
        start, end = self.splits[0], self.splits[1]
        head_weight = weight[start:end]
        head_bias = bias[start:end]
        softmaxed_head_res = F.log_softmax(F.linear(hiddens, head_weight, bias=head_bias), dim=-1)
        entropy = -torch.gather(softmaxed_head_res, dim=1, index=targets.view(-1, 1))
        return entropy.float().sum() / len(targets)


class RNNModel(nn.Module):
    """Container module with an encoder, a recurrent module, and a decoder."""

    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=False):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnns = nn.ModuleList(
            [nn.LSTM(ninp if l == 0 else nhid, nhid if l != nlayers - 1 else ninp, 1) for l in range(nlayers)])
        self.decoder = nn.Linear(ninp, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        self.ninp, self.nhid, self.nlayers = ninp, nhid, nlayers
        self.encoder.weight.data.uniform_(-0.1, 0.1)
        self.decoder.bias.data.fill_(0)

    def forward(self, input, hidden):
        raw_output = self.drop(self.encoder(input))
        new_hidden = []
        for l, rnn in enumerate(self.rnns):
            raw_output, new_h = rnn(raw_output, hidden[l])
            new_hidden.append(new_h)
        output = self.drop(raw_output)
        return output.view(output.size(0) * output.size(1), output.size(2)), new_hidden

    def init_hidden(self, bsz):
        sizes = [self.nhid if l != self.nlayers - 1 else self.ninp for l in range(self.nlayers)]
        return [(torch.zeros(1, bsz, s), torch.zeros(1, bsz, s)) for s in sizes]


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


# %%
ntokens, bptt, batch_size = 30, 12, 8
text = (torch.arange(12000) * 7 + torch.randint(0, 2, (12000,))) % 30
train_data = text.view(batch_size, -1).t().contiguous()
model = RNNModel(ntokens, 24, 48, 2)
criterion = SplitCrossEntropyLoss(24, splits=[ntokens])
params = list(model.parameters()) + list(criterion.parameters())
optimizer = torch.optim.Adam(params, lr=0.01, weight_decay=1.2e-6)
decoder_before = model.decoder.weight.detach().clone()

# %%
losses = []
hidden = model.init_hidden(batch_size)
for i in range(0, train_data.size(0) - 1 - bptt, bptt):
    data, targets = train_data[i:i + bptt], train_data[i + 1:i + 1 + bptt].reshape(-1)
    hidden = repackage_hidden(hidden)
    optimizer.zero_grad()
    output, hidden = model(data, hidden)
    loss = criterion(model.decoder.weight, model.decoder.bias, output, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.25)
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
