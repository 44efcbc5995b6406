# https://github.com/yunjey/pytorch-tutorial/issues/90
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)

# Hyper Parameters
embed_size, hidden_size, num_layers = 12, 16, 1
num_epochs, batch_size, seq_length, learning_rate = 2, 4, 6, 0.002
ids = torch.randint(0, 20, (batch_size, 30))
vocab_size, num_batches = 20, ids.size(1) // seq_length


# RNN Based Language Model
class RNNLM(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size, num_layers):
        super(RNNLM, self).__init__()
        self.embed = nn.Embedding(vocab_size, embed_size)
        self.lstm = nn.LSTM(embed_size, hidden_size, num_layers, batch_first=True)
        self.linear = nn.Linear(hidden_size, vocab_size)

    def forward(self, x, h):
        x = self.embed(x)
        out, h = self.lstm(x, h)
        out = out.contiguous().view(out.size(0) * out.size(1), out.size(2))
        return self.linear(out), h


# Truncated backpropagation
def detach(states):
    return [state.detach() for state in states]


# %%
model = RNNLM(vocab_size, embed_size, hidden_size, num_layers)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
before = model.lstm.weight_hh_l0.detach().clone()

# %%
for epoch in range(num_epochs):
    # Initial hidden and memory states
    states = (torch.zeros(num_layers, batch_size, hidden_size), torch.zeros(num_layers, batch_size, hidden_size))
    for i in range(0, ids.size(1) - seq_length, seq_length):
        inputs = ids[:, i:i + seq_length]
        targets = ids[:, (i + 1):(i + 1) + seq_length].contiguous()

        model.zero_grad()
        states = detach(states)
        outputs, states = model(inputs, states)
        loss = criterion(outputs, targets.view(-1))
        loss.backward()
        clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    print('Epoch [%d/%d], Loss: %.3f' % (epoch + 1, num_epochs, loss.item()))
