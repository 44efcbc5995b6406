# https://github.com/OpenNMT/OpenNMT-py/issues/443
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)
VOCAB, PAD, BOS, LENGTH = 12, 0, 1, 6


def filter_shard_state(state):
    for k, v in state.items():
        if v is not None:
            if isinstance(v, Variable) and v.requires_grad:
                v = Variable(v.data, requires_grad=True)
            yield k, v


def shards(state, shard_size, eval=False):
    if eval:
        yield state
    else:
        non_none = dict(filter_shard_state(state))
        keys, values = zip(*((k, torch.split(v, shard_size)) for k, v in non_none.items()))
        for shard_tensors in zip(*values):
            yield dict(zip(keys, shard_tensors))
        # Assumed backprop'd
        variables = ((state[k], v.grad.data) for k, v in non_none.items()
                     if isinstance(v, Variable) and v.grad is not None)
        inputs, grads = zip(*variables)
        torch.autograd.backward(inputs, grads)


class NMTLossCompute(nn.Module):
    def __init__(self, generator):
        super(NMTLossCompute, self).__init__()
        self.generator = generator
        weight = torch.ones(VOCAB)
        weight[PAD] = 0
        self.criterion = nn.NLLLoss(weight, reduction='sum')

    def make_shard_state(self, tgt, output):
        return {"output": output, "target": tgt[1:]}

    def compute_loss(self, output, target):
        scores = self.generator(output.reshape(-1, output.size(2)))
        return self.criterion(scores, target.reshape(-1))

    def sharded_compute_loss(self, tgt, output, shard_size, normalization):
        total = 0
        shard_state = self.make_shard_state(tgt, output)
        for shard in shards(shard_state, shard_size):
            loss = self.compute_loss(**shard)
            loss.div(normalization).backward()
            total += loss.item()
        return total


class NMTModel(nn.Module):
    def __init__(self, rnn_size=32):
        super(NMTModel, self).__init__()
        self.embeddings = nn.Embedding(VOCAB, rnn_size, padding_idx=PAD)
        self.encoder = nn.GRU(rnn_size, rnn_size)
        self.decoder = nn.GRU(rnn_size, rnn_size)
        self.linear_out = nn.Linear(2 * rnn_size, rnn_size)

    def forward(self, src, tgt):
        memory_bank, state = self.encoder(self.embeddings(src))
        dec, _ = self.decoder(self.embeddings(tgt[:-1]), state)
        align = torch.softmax(torch.einsum('tbd,sbd->bts', dec, memory_bank), -1)
        context = torch.einsum('bts,sbd->tbd', align, memory_bank)
        return torch.tanh(self.linear_out(torch.cat([dec, context], -1)))


def reversed_pairs(n):
    src = torch.randint(2, VOCAB, (LENGTH, n))
    return src, torch.cat([torch.full((1, n), BOS), src.flip(0)])


# %%
model = NMTModel()
generator = nn.Sequential(nn.Linear(32, VOCAB), nn.LogSoftmax(dim=-1))
train_loss = NMTLossCompute(generator)
params = list(model.parameters()) + list(generator.parameters())
optim = torch.optim.Adam(params, lr=5e-3)
history = []
for step in range(200):
    src, tgt = reversed_pairs(32)
    optim.zero_grad()
    outputs = model(src, tgt)
    total = train_loss.sharded_compute_loss(tgt, outputs, shard_size=2, normalization=32)
    nn.utils.clip_grad_norm_(params, 5)
    optim.step()
    history.append(total / (32 * LENGTH))

# %%
optim.zero_grad()
train_loss.sharded_compute_loss(tgt, model(src, tgt), shard_size=2, normalization=32)
at_once = torch.autograd.grad(train_loss.compute_loss(model(src, tgt), tgt[1:]) / 32, params)
same = all(torch.allclose(p.grad, g, atol=1e-5) for p, g in zip(params, at_once))
src, tgt = reversed_pairs(100)
accuracy = (generator(model(src, tgt)).argmax(-1) == tgt[1:]).float().mean().item()
print(history[0], history[-1], same, accuracy)
assert same and accuracy > 0.8
