# https://github.com/Alex-Fabbri/lang2logic-PyTorch/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self, vocab, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab, hidden_size)
        self.lstm = nn.LSTMCell(hidden_size, hidden_size)

    def forward(self, input, state):
        return self.lstm(self.embedding(input), state)


class AttnUnit(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.linear_att = nn.Linear(2 * hidden_size, hidden_size)
        self.linear_out = nn.Linear(hidden_size, output_size)

    def forward(self, enc_outputs, dec_s_top):
        attention = torch.softmax(torch.bmm(enc_outputs, dec_s_top.unsqueeze(2)), dim=1)
        enc_attention = (attention * enc_outputs).sum(1)
        hid = torch.tanh(self.linear_att(torch.cat((enc_attention, dec_s_top), 1)))
        return F.log_softmax(self.linear_out(hid), dim=1)


def eval_training(enc_batch, dec_batch, encoder, decoder, attention_decoder, criterion):
    batch, enc_max_len = enc_batch.shape
    enc_outputs = torch.zeros((batch, enc_max_len, encoder.hidden_size), requires_grad=True)
    state = (torch.zeros(batch, encoder.hidden_size), torch.zeros(batch, encoder.hidden_size))
    for i in range(enc_max_len):
        state = encoder(enc_batch[:, i], state)
        enc_outputs[:, i, :] = state[1]
    loss = 0
    for i in range(dec_batch.size(1) - 1):
        state = decoder(dec_batch[:, i], state)
        loss += criterion(attention_decoder(enc_outputs, state[1]), dec_batch[:, i + 1])
    return loss


# %%
encoder, decoder, attention_decoder = RNN(15, 12), RNN(15, 12), AttnUnit(12, 15)
params = [p for m in (encoder, decoder, attention_decoder) for p in m.parameters()]
optimizer = torch.optim.RMSprop(params, lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    words = torch.randint(0, 15, (4, 6))
    loss = eval_training(words, words.flip(1), encoder, decoder, attention_decoder, nn.NLLLoss())
    loss.backward()
    optimizer.step()
