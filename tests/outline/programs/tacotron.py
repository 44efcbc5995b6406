import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Prenet(nn.Module):
    def __init__(self, in_dim, sizes):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(i, o, bias=False) for i, o in zip([in_dim, *sizes[:-1]], sizes, strict=True)]
        )

    def forward(self, x):
        for linear in self.layers:
            x = F.dropout(F.relu(linear(x)), p=0.5, training=True)
        return x


class Encoder(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.convolutions = nn.ModuleList(
            [nn.Sequential(nn.Conv1d(d, d, 5, padding=2), nn.BatchNorm1d(d)) for _ in range(3)]
        )
        self.lstm = nn.LSTM(d, d // 2, 1, batch_first=True, bidirectional=True)

    def forward(self, x):
        for conv in self.convolutions:
            x = F.dropout(F.relu(conv(x)), 0.5, self.training)
        outputs, _ = self.lstm(x.transpose(1, 2))
        return outputs


class LocationAttention(nn.Module):
    def __init__(self, rnn_dim, memory_dim, att_dim=8, filters=4):
        super().__init__()
        self.query_layer = nn.Linear(rnn_dim, att_dim, bias=False)
        self.memory_layer = nn.Linear(memory_dim, att_dim, bias=False)
        self.location_conv = nn.Conv1d(2, filters, 5, padding=2, bias=False)
        self.location_dense = nn.Linear(filters, att_dim, bias=False)
        self.v = nn.Linear(att_dim, 1, bias=False)

    def forward(self, hidden, memory, processed_memory, weights_cat):
        loc = self.location_dense(self.location_conv(weights_cat).transpose(1, 2))
        query = self.query_layer(hidden.unsqueeze(1))
        energies = self.v(torch.tanh(query + loc + processed_memory)).squeeze(-1)
        weights = F.softmax(energies, dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Decoder(nn.Module):
    def __init__(self, n_mel=10, memory=16, rnn=16, pre=8):
        super().__init__()
        self.n_mel, self.rnn = n_mel, rnn
        self.prenet = Prenet(n_mel, [pre, pre])
        self.attention_rnn = nn.LSTMCell(pre + memory, rnn)
        self.attention_layer = LocationAttention(rnn, memory)
        self.decoder_rnn = nn.LSTMCell(rnn + memory, rnn)
        self.linear_projection = nn.Linear(rnn + memory, n_mel)
        self.gate_layer = nn.Linear(rnn + memory, 1)

    def initialize_decoder_states(self, memory):
        B, T, E = memory.shape
        self.attention_hidden = memory.new_zeros(B, self.rnn)
        self.attention_cell = memory.new_zeros(B, self.rnn)
        self.decoder_hidden = memory.new_zeros(B, self.rnn)
        self.decoder_cell = memory.new_zeros(B, self.rnn)
        self.attention_weights = memory.new_zeros(B, T)
        self.attention_weights_cum = memory.new_zeros(B, T)
        self.attention_context = memory.new_zeros(B, E)
        self.memory = memory
        self.processed_memory = self.attention_layer.memory_layer(memory)

    def decode(self, decoder_input):
        cell_input = torch.cat((decoder_input, self.attention_context), -1)
        self.attention_hidden, self.attention_cell = self.attention_rnn(
            cell_input, (self.attention_hidden, self.attention_cell)
        )
        self.attention_hidden = F.dropout(self.attention_hidden, 0.1, self.training)
        weights_cat = torch.stack((self.attention_weights, self.attention_weights_cum), dim=1)
        self.attention_context, self.attention_weights = self.attention_layer(
            self.attention_hidden, self.memory, self.processed_memory, weights_cat
        )
        self.attention_weights_cum = self.attention_weights_cum + self.attention_weights
        decoder_input = torch.cat((self.attention_hidden, self.attention_context), -1)
        self.decoder_hidden, self.decoder_cell = self.decoder_rnn(
            decoder_input, (self.decoder_hidden, self.decoder_cell)
        )
        out = torch.cat((self.decoder_hidden, self.attention_context), dim=1)
        return self.linear_projection(out), self.gate_layer(out), self.attention_weights

    def forward(self, memory, decoder_inputs):
        decoder_inputs = decoder_inputs.permute(2, 0, 1)
        go = decoder_inputs.new_zeros(1, memory.size(0), self.n_mel)
        decoder_inputs = self.prenet(torch.cat((go, decoder_inputs), dim=0))
        self.initialize_decoder_states(memory)
        mel_outputs, gate_outputs, alignments = [], [], []
        while len(mel_outputs) < decoder_inputs.size(0) - 1:
            mel, gate, weights = self.decode(decoder_inputs[len(mel_outputs)])
            mel_outputs += [mel]
            gate_outputs += [gate.squeeze(1)]
            alignments += [weights]
        return torch.stack(mel_outputs, 2), torch.stack(gate_outputs, 1), torch.stack(alignments, 1)


class Tacotron2(nn.Module):
    def __init__(self, n_symbols=20, n_mel=10, d=16):
        super().__init__()
        self.embedding = nn.Embedding(n_symbols, d)
        self.encoder = Encoder(d)
        self.decoder = Decoder(n_mel, d)
        self.postnet = nn.Sequential(
            nn.Conv1d(n_mel, 16, 5, padding=2),
            nn.BatchNorm1d(16),
            nn.Tanh(),
            nn.Dropout(0.5),
            nn.Conv1d(16, n_mel, 5, padding=2),
        )

    def forward(self, text, mels):
        encoder_outputs = self.encoder(self.embedding(text).transpose(1, 2))
        mel_outputs, gate_outputs, alignments = self.decoder(encoder_outputs, mels)
        mel_outputs_postnet = mel_outputs + self.postnet(mel_outputs)
        return mel_outputs, mel_outputs_postnet, gate_outputs, alignments


class Tacotron2Loss(nn.Module):
    def forward(self, model_output, targets):
        mel_target, gate_target = targets
        mel_out, mel_out_postnet, gate_out, _ = model_output
        mel_loss = nn.MSELoss()(mel_out, mel_target) + nn.MSELoss()(mel_out_postnet, mel_target)
        gate_loss = nn.BCEWithLogitsLoss()(gate_out.reshape(-1, 1), gate_target.reshape(-1, 1))
        return mel_loss + gate_loss


model = Tacotron2()
criterion = Tacotron2Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
text, mel = torch.randint(0, 20, (4, 9)), torch.rand(4, 10, 12)
gate = torch.zeros(4, 12)
gate[:, -1] = 1
# %% the recorded cell
model.zero_grad()
y_pred = model(text, mel)
loss = criterion(y_pred, (mel, gate))
reduced_loss = loss.item()
loss.backward()
grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
