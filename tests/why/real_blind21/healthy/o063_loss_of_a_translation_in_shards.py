# https://github.com/OpenNMT/OpenNMT-py/issues/387
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)


def filter_shard_state(state, requires_grad=True):
    for k, v in state.items():
        if v is not None:
            if isinstance(v, torch.Tensor) and v.requires_grad:
                v = Variable(v.data, requires_grad=requires_grad)
            yield k, v


def shards(state, shard_size):
    non_none = dict(filter_shard_state(state))
    keys, values = zip(*((k, torch.split(v, shard_size)) for k, v in non_none.items()))
    for shard_tensors in zip(*values):
        yield dict(zip(keys, shard_tensors))
    variables = ((state[k], v.grad.data) for k, v in non_none.items() if isinstance(v, torch.Tensor) and v.grad is not None)
    inputs, grads = zip(*variables)
    torch.autograd.backward(inputs, grads)


class NMTLossCompute(nn.Module):
    def __init__(self, generator):
        super(NMTLossCompute, self).__init__()
        self.generator = generator
        self.criterion = nn.NLLLoss(reduction='sum')

    def compute_loss(self, output, target):
        scores = self.generator(output.view(-1, output.size(2)))
        return self.criterion(scores, target.view(-1))

    def sharded_compute_loss(self, output, target, shard_size, normalization):
        total = 0.0
        for shard in shards({'output': output, 'target': target}, shard_size):
            loss = self.compute_loss(**shard)
            loss.div(normalization).backward()
            total += loss.item()
        return total


class NMTModel(nn.Module):
    def __init__(self, vocab, hidden):
        super(NMTModel, self).__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(vocab, hidden), nn.Embedding(vocab, hidden)
        self.encoder, self.decoder = nn.LSTM(hidden, hidden), nn.LSTM(hidden, hidden)

    def forward(self, src, tgt):
        _, state = self.encoder(self.src_emb(src))
        return self.decoder(self.tgt_emb(tgt[:-1]), state)[0]


# %%
V = 20
model = NMTModel(V, 32)
generator = nn.Sequential(nn.Linear(32, V), nn.LogSoftmax(dim=-1))
train_loss = NMTLossCompute(generator)
optim = torch.optim.Adam(list(model.parameters()) + list(generator.parameters()), lr=5e-3)

# %%
src = torch.randint(2, V, (6, 16))
tgt = torch.cat([torch.ones(1, 16, dtype=torch.long), src])
outputs = model(src, tgt)
whole = train_loss.compute_loss(outputs, tgt[1:]).div(96)
expected = torch.autograd.grad(whole, model.encoder.weight_ih_l0)[0]
optim.zero_grad()
train_loss.sharded_compute_loss(model(src, tgt), tgt[1:], shard_size=2, normalization=96)
same = torch.allclose(model.encoder.weight_ih_l0.grad, expected, atol=1e-6)

# %%
losses = []
for step in range(200):
    optim.zero_grad()
    outputs = model(src, tgt)
    losses.append(train_loss.sharded_compute_loss(outputs, tgt[1:], shard_size=2, normalization=96) / 96)
    optim.step()
print(same, losses[0], losses[-1])
assert same and losses[-1] < 0.5 * losses[0]
