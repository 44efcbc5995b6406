# https://github.com/spro/char-rnn.pytorch/blob/master/train.py
import random
import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)

file = "the cat sat on the mat and the dog lay on the rug. the dog saw the cat and the cat saw the dog. " * 4
file_len = len(file)
all_characters = ''.join(sorted(set(file)))
n_characters = len(all_characters)


def char_tensor(string):
    return torch.tensor([all_characters.index(c) for c in string], dtype=torch.long)


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, model="gru", n_layers=1):
        super(CharRNN, self).__init__()
        self.model = model.lower()
        self.hidden_size = hidden_size
        self.n_layers = n_layers
        self.encoder = nn.Embedding(input_size, hidden_size)
        if self.model == "gru":
            self.rnn = nn.GRU(hidden_size, hidden_size, n_layers)
        elif self.model == "lstm":
            self.rnn = nn.LSTM(hidden_size, hidden_size, n_layers)
        self.decoder = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        batch_size = input.size(0)
        encoded = self.encoder(input)
        output, hidden = self.rnn(encoded.view(1, batch_size, -1), hidden)
        output = self.decoder(output.view(batch_size, -1))
        return output, hidden

    def init_hidden(self, batch_size):
        if self.model == "lstm":
            return (torch.zeros(self.n_layers, batch_size, self.hidden_size),
                    torch.zeros(self.n_layers, batch_size, self.hidden_size))
        return torch.zeros(self.n_layers, batch_size, self.hidden_size)


def random_training_set(chunk_len, batch_size):
    inp = torch.zeros(batch_size, chunk_len, dtype=torch.long)
    target = torch.zeros(batch_size, chunk_len, dtype=torch.long)
    for bi in range(batch_size):
        start_index = random.randint(0, file_len - chunk_len - 1)
        chunk = file[start_index:start_index + chunk_len + 1]
        inp[bi] = char_tensor(chunk[:-1])
        target[bi] = char_tensor(chunk[1:])
    return inp, target


# %%
chunk_len, batch_size, n_epochs = 25, 16, 90
decoder = CharRNN(n_characters, 48, n_characters, model="gru", n_layers=2)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()


def train(inp, target):
    hidden = decoder.init_hidden(batch_size)
    decoder.zero_grad()
    loss = 0
    for c in range(chunk_len):
        output, hidden = decoder(inp[:, c], hidden)
        loss += criterion(output.view(batch_size, -1), target[:, c])
    loss.backward()
    decoder_optimizer.step()
    return loss.item() / chunk_len


# %%
all_losses = []
for epoch in range(1, n_epochs + 1):
    loss = train(*random_training_set(chunk_len, batch_size))
    all_losses.append(loss)
    if epoch % 30 == 0:
        print('[%d %d%% %.4f]' % (epoch, epoch / n_epochs * 100, loss))

# %%
with torch.no_grad():
    hidden, predicted = decoder.init_hidden(1), 'the dog sa'
    for c in predicted[:-1]:
        _, hidden = decoder(char_tensor(c), hidden)
    for _ in range(14):
        output, hidden = decoder(char_tensor(predicted[-1]), hidden)
        predicted += all_characters[int(output.argmax())]
print(predicted, all_losses[0], all_losses[-1])
assert all_losses[-1] < 0.3 * all_losses[0] and predicted.startswith('the dog saw the ')
