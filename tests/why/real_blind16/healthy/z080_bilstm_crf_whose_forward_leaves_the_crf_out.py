# https://github.com/lonePatient/BiLSTM-CRF-NER-PyTorch/issues/4
import itertools
import torch
import torch.nn as nn

torch.manual_seed(0)
TAGS = ['O', 'B', 'I']
VOCAB, PAD = 13, 0


class CRF(nn.Module):
    def __init__(self, tagset_size):
        super().__init__()
        self.transitions = nn.Parameter(0.1 * torch.randn(tagset_size, tagset_size))
        self.start, self.end = nn.Parameter(torch.zeros(tagset_size)), nn.Parameter(torch.zeros(tagset_size))

    def score(self, feats, mask, tags):
        emitted = feats.gather(2, tags.unsqueeze(2)).squeeze(2)
        moved = self.transitions[tags[:, :-1], tags[:, 1:]]
        last = tags.gather(1, (mask.sum(1, keepdim=True) - 1)).squeeze(1)
        return self.start[tags[:, 0]] + (emitted * mask).sum(1) + (moved * mask[:, 1:]).sum(1) + self.end[last]

    def partition(self, feats, mask):
        alpha = self.start + feats[:, 0]
        for t in range(1, feats.shape[1]):
            following = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, dim=1) + feats[:, t]
            alpha = torch.where(mask[:, t : t + 1].bool(), following, alpha)
        return torch.logsumexp(alpha + self.end, dim=1)

    def neg_log_likelihood_loss(self, feats, mask, tags):
        return (self.partition(feats, mask) - self.score(feats, mask, tags)).sum()

    @torch.no_grad()
    def forward(self, feats, mask):
        """The best path, for prediction."""
        score, history = self.start + feats[:, 0], []
        for t in range(1, feats.shape[1]):
            best, index = (score.unsqueeze(2) + self.transitions).max(1)
            valid = mask[:, t : t + 1].bool()
            score = torch.where(valid, best + feats[:, t], score)
            history.append(torch.where(valid, index, torch.arange(feats.shape[2]).expand_as(index)))
        path = [(score + self.end).argmax(1, keepdim=True)]
        for index in reversed(history):
            path.append(index.gather(1, path[-1]))
        return torch.cat(path[::-1], 1)


class BiLSTM(nn.Module):
    def __init__(self, embedding_size=16, hidden_size=24):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embedding_size, padding_idx=PAD)
        self.bilstm = nn.LSTM(embedding_size, hidden_size, batch_first=True, bidirectional=True)
        self.layer_norm = nn.LayerNorm(2 * hidden_size)
        self.classifier = nn.Linear(2 * hidden_size, len(TAGS))
        self.crf = CRF(len(TAGS))

    def forward(self, inputs, length):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(inputs), length, batch_first=True, enforce_sorted=False)
        output, _ = nn.utils.rnn.pad_packed_sequence(self.bilstm(packed)[0], batch_first=True, total_length=inputs.shape[1])
        return self.classifier(self.layer_norm(output))


def sentences(n, longest=10):
    """A name begins with one of three words and goes on through a few more; names may stand side by side."""
    inputs, target = torch.full((n, longest), PAD), torch.zeros(n, longest, dtype=torch.long)
    length = torch.randint(5, longest + 1, (n,))
    for i in range(n):
        t = 0
        while t < length[i]:
            if torch.rand(1) < 0.4:
                for k in range(int(torch.randint(1, 4, (1,)))):
                    if t < length[i]:
                        low, high, tag = (1, 4, 1) if k == 0 else (4, 8, 2)
                        inputs[i, t], target[i, t] = torch.randint(low, high, (1,)), tag
                        t += 1
            else:
                inputs[i, t] = torch.randint(8, VOCAB, (1,))
                t += 1
    mask = (torch.arange(longest) < length[:, None]).long()
    return inputs, length, mask, target


# %%
model = BiLSTM()
inputs, length, mask, target = sentences(1)
feats = model(inputs, length)[:, :4]
paths = torch.tensor(list(itertools.product(range(3), repeat=4)))
every = model.crf.score(feats.expand(81, 4, 3), torch.ones(81, 4).long(), paths)
error = (torch.logsumexp(every, 0) - model.crf.partition(feats, torch.ones(1, 4))[0]).abs().item()

# %%
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses, start = [], model.crf.transitions.detach().clone()
train_set = sentences(512)
for epoch in range(4):
    model.train()
    for index in torch.randperm(512).split(32):
        inputs, length, mask, target = (part[index] for part in train_set)
        outputs = model(inputs, length)
        loss = model.crf.neg_log_likelihood_loss(outputs, mask, target) / len(index)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())

# %%
model.eval()
inputs, length, mask, target = sentences(200)
with torch.no_grad():
    predicts = model.crf(model(inputs, length), mask)
accuracy = ((predicts == target) & mask.bool()).sum().item() / mask.sum().item()
print(error, losses[0], losses[-1], accuracy)
assert error < 1e-4
assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.crf.parameters())
assert not torch.equal(start, model.crf.transitions)
assert losses[-1] < 0.3 * losses[0] and accuracy > 0.95
