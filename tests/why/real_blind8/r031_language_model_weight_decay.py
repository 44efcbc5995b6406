# https://github.com/deeplearningathome/pytorch-language-model/issues/1
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
vocab, bptt, batch_size = 20, 10, 16
text = torch.arange(batch_size * 60).remainder(vocab).view(batch_size, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, vocab_size, embedding_dim=16, hidden=32):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden)
        self.sm_fc = nn.Linear(hidden, vocab_size)

    def forward(self, inputs, hidden):
        lstm_out, hidden = self.lstm(self.word_embeddings(inputs), hidden)
        return self.sm_fc(lstm_out), hidden


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


# %%
model = RNNModel(vocab)
criterion = nn.CrossEntropyLoss()
learning_rate, gradient_clip = 1e-2, 0.25
optimizer = optim.Adam(model.parameters(), lr=learning_rate, weight_decay=5e-2)

# %%
for epoch in range(12):
    total_loss = 0
    hidden = (torch.zeros(1, batch_size, 32), torch.zeros(1, batch_size, 32))
    for i in range(0, len(text) - 1 - bptt, bptt):
        data, targets = text[i:i + bptt], text[i + 1:i + 1 + bptt].reshape(-1)
        hidden = repackage_hidden(hidden)
        optimizer.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output.view(-1, vocab), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), gradient_clip)
        optimizer.step()
        total_loss += loss.item()
    print(epoch, total_loss / 5)
