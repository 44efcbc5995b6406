# https://github.com/pytorch/tutorials/issues/501
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
SOS_token, EOS_token, n_words, MAX_LENGTH = 0, 1, 8, 5
teacher_forcing_ratio = 0.5


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        return self.gru(self.embedding(input).view(1, 1, -1), hidden)

    def initHidden(self):
        return torch.zeros(1, 1, self.hidden_size)


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size)
        self.out = nn.Linear(2 * hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input).view(1, 1, -1)
        weights = F.softmax(hidden[0] @ encoder_outputs.t(), dim=1)
        context = weights @ encoder_outputs
        output, hidden = self.gru(torch.cat([embedded[0], context], 1).unsqueeze(0), hidden)
        return F.log_softmax(self.out(torch.cat([output[0], context], 1)), dim=1), hidden


def train(input_tensor, target_tensor, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion):
    encoder_hidden = encoder.initHidden()
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    outputs, loss = [], 0
    for ei in range(len(input_tensor)):
        encoder_output, encoder_hidden = encoder(input_tensor[ei], encoder_hidden)
        outputs.append(encoder_output[0, 0])
    encoder_outputs = torch.stack(outputs)
    decoder_input, decoder_hidden = torch.tensor([[SOS_token]]), encoder_hidden
    use_teacher_forcing = random.random() < teacher_forcing_ratio
    for di in range(len(target_tensor)):
        decoder_output, decoder_hidden = decoder(decoder_input, decoder_hidden, encoder_outputs)
        loss += criterion(decoder_output, target_tensor[di:di + 1])
        if use_teacher_forcing:
            decoder_input = target_tensor[di]
        else:
            topv, topi = decoder_output.topk(1)
            decoder_input = topi.squeeze().detach()  # from the history as the next input
            if decoder_input.item() == EOS_token:
                break
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss.item() / len(target_tensor)


# %%
pairs = []
for _ in range(20):
    words = [random.randint(2, n_words - 1) for _ in range(random.randint(2, MAX_LENGTH - 1))]
    pairs.append((torch.tensor(words + [EOS_token]), torch.tensor(words[::-1] + [EOS_token])))
encoder, decoder = EncoderRNN(n_words, 32), AttnDecoderRNN(32, n_words)
encoder_optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
decoder_optimizer = torch.optim.SGD(decoder.parameters(), lr=0.05)
criterion = nn.NLLLoss()

# %%
losses = []
for iter in range(400):
    input_tensor, target_tensor = random.choice(pairs)
    losses.append(train(input_tensor, target_tensor, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion))
first, last = sum(losses[:50]) / 50, sum(losses[-50:]) / 50
print(first, last)
assert last < 0.6 * first
assert all(p.grad is not None for m in (encoder, decoder) for p in m.parameters())
