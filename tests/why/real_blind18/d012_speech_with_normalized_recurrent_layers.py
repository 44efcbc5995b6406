# https://github.com/SeanNaren/deepspeech.pytorch/issues/75
from collections import OrderedDict

import torch
import torch.nn as nn

torch.manual_seed(0)


class SequenceWise(nn.Module):
    def __init__(self, module):
        """Collapses input of dim T*N*H to (T*N)*H, and applies to a module."""
        super(SequenceWise, self).__init__()
        self.module = module

    def forward(self, x):
        t, n = x.size(0), x.size(1)
        x = self.module(x.view(t * n, -1))
        return x.view(t, n, -1)


class BatchRNN(nn.Module):
    def __init__(self, input_size, hidden_size, rnn_type=nn.LSTM, bidirectional=False, batch_norm=True):
        super(BatchRNN, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.batch_norm_activate = batch_norm
        self.bidirectional = bidirectional
        self.batch_norm = SequenceWise(nn.BatchNorm1d(input_size))
        self.rnn = rnn_type(input_size=input_size, hidden_size=hidden_size,
                            bidirectional=bidirectional, bias=False)

    def forward(self, x):
        if self.batch_norm_activate:
            x = self.batch_norm(x)
        x, _ = self.rnn(x)
        if self.bidirectional:
            x = x.view(x.size(0), x.size(1), 2, -1).sum(2).view(x.size(0), x.size(1), -1)
        return x


class DeepSpeech(nn.Module):
    def __init__(self, rnn_type=nn.LSTM, labels="_abc", rnn_hidden_size=16, nb_layers=3, bidirectional=True):
        super(DeepSpeech, self).__init__()
        num_classes = len(labels)
        self.conv = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=(11, 5), stride=(2, 2)),
            nn.BatchNorm2d(4),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(4, 4, kernel_size=(5, 5), stride=(2, 1)),
            nn.BatchNorm2d(4),
            nn.Hardtanh(0, 20, inplace=True)
        )
        rnn_input_size = 4 * 9
        rnns = []
        rnn = BatchRNN(input_size=rnn_input_size, hidden_size=rnn_hidden_size, rnn_type=rnn_type,
                       bidirectional=bidirectional, batch_norm=False)
        rnns.append(('0', rnn))
        for x in range(nb_layers - 1):
            rnn = BatchRNN(input_size=rnn_hidden_size, hidden_size=rnn_hidden_size, rnn_type=rnn_type,
                           bidirectional=bidirectional)
            rnns.append(('%d' % (x + 1), rnn))
        self.rnns = nn.Sequential(OrderedDict(rnns))
        fully_connected = nn.Sequential(
            nn.BatchNorm1d(rnn_hidden_size),
            nn.Linear(rnn_hidden_size, num_classes, bias=False)
        )
        self.fc = nn.Sequential(SequenceWise(fully_connected))

    def forward(self, x):
        x = self.conv(x)
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3])  # Collapse feature dimension
        x = x.transpose(1, 2).transpose(0, 1).contiguous()  # TxNxH
        x = self.rnns(x)
        return self.fc(x)


# %%
model = DeepSpeech()
criterion = nn.CTCLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=3e-4, momentum=0.9, nesterov=True)

# %%
inputs = torch.randn(4, 1, 51, 40)
targets, target_sizes = torch.randint(1, 4, (4, 5)), torch.full((4,), 5)
out = model(inputs)
sizes = torch.full((4,), out.size(0))
loss = criterion(out.log_softmax(-1), targets, sizes, target_sizes)
optimizer.zero_grad()
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 400)
optimizer.step()

without_gradient = []
for name, param in model.named_parameters():
    if param.grad is None:
        print(name, param.requires_grad)
        without_gradient.append(name)
print(loss.item())
