# https://github.com/EagleW/Writing-editing-Network/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)


class EncoderRNN(nn.Module):
    def __init__(self, embedding, hidden):
        super().__init__()
        self.embedding = embedding
        self.rnn = nn.GRU(embedding.embedding_dim, hidden, batch_first=True, bidirectional=True)

    def forward(self, ids):
        output, hidden = self.rnn(self.embedding(ids))
        return output, torch.cat([hidden[0], hidden[1]], 1)


class DecoderRNN(nn.Module):
    def __init__(self, embedding, hidden, vocab_size):
        super().__init__()
        self.embedding = embedding
        self.bridge = nn.Linear(4 * hidden, hidden)
        self.rnn = nn.GRUCell(embedding.embedding_dim + 2 * hidden, hidden)
        self.attn = nn.Linear(hidden, 2 * hidden)
        self.out = nn.Linear(hidden, vocab_size)

    def forward(self, targets, title, draft):
        (title_out, title_state), (draft_out, draft_state) = title, draft
        state = torch.tanh(self.bridge(torch.cat([title_state, draft_state], 1)))
        memory = torch.cat([title_out, draft_out], 1)
        logits = []
        for t in range(targets.size(1)):
            weights = torch.softmax(memory @ self.attn(state).unsqueeze(2), dim=1)
            context = (weights * memory).sum(1)
            state = self.rnn(torch.cat([self.embedding(targets[:, t]), context], 1), state)
            logits.append(self.out(state))
        return torch.stack(logits, 1)


class FbSeq2seq(nn.Module):
    def __init__(self, vocab_size=20, dim=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.encoder_title = EncoderRNN(self.embedding, hidden)
        self.encoder = EncoderRNN(self.embedding, hidden)
        self.decoder = DecoderRNN(self.embedding, hidden, vocab_size)

    def forward(self, titles, targets, drafts):
        return self.decoder(targets, self.encoder_title(titles), self.encoder(drafts))


# %%
model = FbSeq2seq()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
titles = torch.randint(2, 20, (24, 4))
abstracts = torch.cat([titles, titles.flip(1)], 1)
inputs = torch.cat([torch.ones(24, 1, dtype=torch.long), abstracts[:, :-1]], 1)

# %%
written = []
for epoch in range(25):
    drafts = titles
    total = 0.0
    for num_exam in range(2):
        optimizer.zero_grad()
        logits = model(titles, inputs, drafts)
        loss = criterion(logits.view(-1, 20), abstracts.reshape(-1))
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        drafts = logits.argmax(2)
        total += loss.item()
    written.append(total / 2)

# %%
print(written[0], written[-1])
assert written[-1] < 0.6 * written[0] and all(p.grad is not None for p in model.parameters())
