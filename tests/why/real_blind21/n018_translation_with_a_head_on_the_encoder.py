# https://github.com/OpenNMT/OpenNMT-py/issues/2153
import torch
import torch.nn as nn

torch.manual_seed(0)


class Statistics:
    def __init__(self, loss=0, n_words=0, n_correct=0):
        self.loss, self.n_words, self.n_correct = loss, n_words, n_correct

    def update(self, stat):
        self.loss += stat.loss
        self.n_words += stat.n_words
        self.n_correct += stat.n_correct


def filter_shard_state(state, shard_size):
    for k, v in state.items():
        v_split = []
        for v_chunk in torch.split(v, shard_size):
            v_chunk = v_chunk.data.clone()
            v_chunk.requires_grad = v.requires_grad
            v_split.append(v_chunk)
        yield k, (v, v_split)


def shards(state, shard_size):
    non_none = dict(filter_shard_state(state, shard_size))
    keys, values = zip(*((k, v_split) for k, (_, v_split) in non_none.items()))
    for shard_tensors in zip(*values):
        yield dict(zip(keys, shard_tensors))
    variables = []
    for k, (v, v_split) in non_none.items():
        if state[k].requires_grad:
            variables.extend(zip(torch.split(state[k], shard_size), [v_chunk.grad for v_chunk in v_split]))
    inputs, grads = zip(*variables)
    torch.autograd.backward(inputs, grads)


class NMTLossCompute(nn.Module):
    def __init__(self, criterion, generator, class_criterion):
        super(NMTLossCompute, self).__init__()
        self.criterion, self.generator, self.class_criterion = criterion, generator, class_criterion

    def _stats(self, loss, scores, target):
        num_correct = scores.max(1)[1].eq(target).sum().item()
        return Statistics(loss.item(), target.numel(), num_correct)

    def _compute_loss(self, output, target):
        scores = self.generator(output.view(-1, output.size(2)))
        gtruth = target.view(-1)
        loss = self.criterion(scores, gtruth)
        return loss, self._stats(loss.clone(), scores, gtruth)

    def _compute_class_loss(self, logits, refs):
        loss = self.class_criterion(logits, refs)
        return loss, self._stats(loss.clone(), logits, refs)

    def __call__(self, batch, output, stargets_logits, normalization, shard_size):
        shard_state = {'output': output, 'target': batch['tgt'][1:]}
        batch_stats = Statistics()
        class_loss, class_stats = self._compute_class_loss(stargets_logits, batch['stargets'])
        class_loss.backward()
        batch_stats.update(class_stats)
        for shard in shards(shard_state, shard_size):
            loss, stats = self._compute_loss(**shard)
            loss.div(float(normalization)).backward()
            batch_stats.update(stats)
        return None, batch_stats


class NMTModel(nn.Module):
    def __init__(self, vocab_size, hidden, n_classes):
        super(NMTModel, self).__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(vocab_size, hidden), nn.Embedding(vocab_size, hidden)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(hidden, 2, 2 * hidden, dropout=0.1), 1)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(hidden, 2, 2 * hidden, dropout=0.1), 1)
        self.classifier = nn.Linear(hidden, n_classes)
        self.generator = nn.Sequential(nn.Linear(hidden, vocab_size), nn.LogSoftmax(dim=-1))

    def forward(self, src, tgt):
        memory_bank = self.encoder(self.src_emb(src))
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(0) - 1)
        dec_out = self.decoder(self.tgt_emb(tgt[:-1]), memory_bank, tgt_mask=mask)
        return dec_out, self.classifier(memory_bank.mean(0))


# %%
model = NMTModel(vocab_size=30, hidden=16, n_classes=4)
train_loss = NMTLossCompute(nn.NLLLoss(reduction='sum'), model.generator, nn.CrossEntropyLoss())
optim = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for step in range(3):
    batch = {'src': torch.randint(0, 30, (7, 8)), 'tgt': torch.randint(0, 30, (9, 8)), 'stargets': torch.randint(0, 4, (8,))}
    optim.zero_grad()
    outputs, logits = model(batch['src'], batch['tgt'])
    loss, batch_stats = train_loss(batch, outputs, logits, normalization=batch['tgt'][1:].numel(), shard_size=4)
    optim.step()
    print(step, batch_stats.loss / batch_stats.n_words)
