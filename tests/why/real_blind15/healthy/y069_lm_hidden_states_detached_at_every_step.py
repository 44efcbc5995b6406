# https://github.com/dpressel/dliss-tutorial/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum, self.count = self.sum + value * n, self.count + n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class LSTMLanguageModel(nn.Module):
    def __init__(self, vocab_size, embed_dim=24, hidden_size=48, dropout=0.1, layers=2):
        super().__init__()
        self.layers, self.hidden_size = layers, hidden_size
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.rnn = nn.LSTM(embed_dim, hidden_size, layers, dropout=dropout, bidirectional=False, batch_first=True)
        self.proj = nn.Linear(hidden_size, vocab_size)

    def init_hidden(self, batchsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.layers, batchsz, self.hidden_size),
                weight.new_zeros(self.layers, batchsz, self.hidden_size))

    def forward(self, x, hidden):
        decoded, hidden = self.rnn(self.embed(x), hidden)
        return self.proj(decoded), hidden


class SequenceDataset:
    """A long line of words, cut into rows, of which nctx are given at a time."""

    def __init__(self, x, nctx, batchsz):
        self.nctx, self.batchsz = nctx, batchsz
        n = len(x) // batchsz
        self.x = x[:n * batchsz].view(batchsz, n)

    def get_batches(self):
        for i in range(0, self.x.size(1) - self.nctx - 1, self.nctx):
            yield self.x[:, i:i + self.nctx], self.x[:, i + 1:i + self.nctx + 1]


class LMTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_function = nn.CrossEntropyLoss()

    def run(self, dataset):
        avg_loss = AverageMeter()
        self.model.train()
        hidden = self.model.init_hidden(dataset.batchsz)
        for x, y in dataset.get_batches():
            self.optimizer.zero_grad()
            hidden = tuple(h.detach() for h in hidden)
            logits, hidden = self.model(x, hidden)
            loss = self.loss_function(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.25)
            self.optimizer.step()
            avg_loss.update(loss.item(), y.numel())
        return avg_loss.avg, hidden

    @torch.no_grad()
    def evaluate(self, dataset, keep=True):
        self.model.eval()
        hidden, hits = self.model.init_hidden(dataset.batchsz), AverageMeter()
        for x, y in dataset.get_batches():
            if not keep:
                hidden = self.model.init_hidden(dataset.batchsz)
            logits, hidden = self.model(x, hidden)
            hits.update((logits.argmax(-1) == y).float().mean().item())
        return hits.avg


def count_up(n, seed):
    """Nine words round and round in one of two directions, which changes seldom."""
    g = torch.Generator().manual_seed(seed)
    word, step, words = 0, 1, []
    for change in (torch.rand(n, generator=g) < 0.01).tolist():
        step = -step if change else step
        word = (word + step) % 9
        words.append(word)
    return torch.tensor(words)


# %%
trainer = LMTrainer(LSTMLanguageModel(9), lr=1e-2)
train, valid = SequenceDataset(count_up(8000, 0), nctx=4, batchsz=20), SequenceDataset(count_up(2000, 1), nctx=4, batchsz=20)
losses = []
for epoch in range(3):
    loss, hidden = trainer.run(train)
    losses.append(loss)

# %%
kept, forgotten = trainer.evaluate(valid), trainer.evaluate(valid, keep=False)
print(losses, kept, forgotten)
assert hidden[0].requires_grad  # of the last part alone
assert losses[-1] < 0.5 * losses[0] and kept > 0.9
assert kept > forgotten + 0.05  # the state says what the parts before held
