# https://github.com/SeanNaren/deepspeech.pytorch/issues/194
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)


class SequenceWise(nn.Module):
    def __init__(self, module):
        """
        Collapses input of dim T*N*H to (T*N)*H, and applies to a module.
        """
        super(SequenceWise, self).__init__()
        self.module = module

    def forward(self, x):
        t, n = x.size(0), x.size(1)
        x = x.view(t * n, -1)
        x = self.module(x)
        x = x.view(t, n, -1)
        return x


class InferenceBatchSoftmax(nn.Module):
    def forward(self, input_):
        if not self.training:
            return F.softmax(input_, dim=-1)
        else:
            return input_


class BatchRNN(nn.Module):
    def __init__(self, input_size, hidden_size, bidirectional=False, batch_norm=True):
        super(BatchRNN, self).__init__()
        self.bidirectional = bidirectional
        self.batch_norm = SequenceWise(nn.BatchNorm1d(input_size)) if batch_norm else None
        self.rnn = nn.GRU(input_size=input_size, hidden_size=hidden_size, bidirectional=bidirectional, bias=False)

    def forward(self, x):
        if self.batch_norm is not None:
            x = self.batch_norm(x)
        x, _ = self.rnn(x)
        if self.bidirectional:
            x = x.view(x.size(0), x.size(1), 2, -1).sum(2).view(x.size(0), x.size(1), -1)  # (TxNxH*2) -> (TxNxH) by sum
        return x


class DeepSpeech(nn.Module):
    def __init__(self, num_classes=6, rnn_hidden_size=32, nb_layers=2):
        super(DeepSpeech, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=(4, 3), stride=(2, 1), padding=(0, 1)),
            nn.BatchNorm2d(8),
            nn.Hardtanh(0, 20, inplace=True),
        )
        rnns = [('0', BatchRNN(8 * 4, rnn_hidden_size, bidirectional=True, batch_norm=False))]
        for x in range(nb_layers - 1):
            rnns.append(('%d' % (x + 1), BatchRNN(rnn_hidden_size, rnn_hidden_size, bidirectional=True)))
        self.rnns = nn.Sequential(OrderedDict(rnns))
        fully_connected = nn.Sequential(
            nn.BatchNorm1d(rnn_hidden_size),
            nn.Linear(rnn_hidden_size, num_classes, bias=False)
        )
        self.fc = nn.Sequential(
            SequenceWise(fully_connected),
        )
        self.inference_softmax = InferenceBatchSoftmax()

    def forward(self, x):
        x = self.conv(x)
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3])  # Collapse feature dimension
        x = x.transpose(1, 2).transpose(0, 1).contiguous()  # TxNxH
        x = self.rnns(x)
        x = self.fc(x)
        x = x.transpose(0, 1)
        # identity in training mode, softmax in eval mode
        x = self.inference_softmax(x)
        return x


class CTCLoss(nn.Module):
    """As warp-ctc has it: takes activations, T x N x C, and sums over the batch."""
    def forward(self, acts, labels, act_lens, label_lens):
        return F.ctc_loss(acts.log_softmax(2), labels, act_lens, label_lens, blank=0, reduction='sum')


voices = torch.randn(6, 10)


def utterances(n):
    inputs, targets, target_sizes = torch.zeros(n, 1, 10, 20), [], []
    for i in range(n):
        letters = torch.randperm(5)[:int(torch.randint(2, 5, (1,)))] + 1
        spectrogram = torch.cat([voices[l].unsqueeze(1).expand(10, int(torch.randint(3, 5, (1,)))) for l in letters] + [torch.zeros(10, 20)], 1)
        inputs[i, 0] = spectrogram[:, :20] + 0.2 * torch.randn(10, 20)
        targets.append(letters)
        target_sizes.append(len(letters))
    return inputs, torch.cat(targets).int(), torch.IntTensor(target_sizes)


def greedy(probs):
    words = []
    for row in probs.argmax(2).tolist():
        words.append([l for k, l in enumerate(row) if l != 0 and (k == 0 or row[k - 1] != l)])
    return words


# %%
model = DeepSpeech()
criterion = CTCLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=2e-2, momentum=0.9, nesterov=True)
model.train()
history = []
for i in range(80):
    inputs, targets, target_sizes = utterances(16)
    inputs = Variable(inputs, requires_grad=False)
    out = model(inputs)
    out = out.transpose(0, 1)  # TxNxH
    sizes = Variable(torch.IntTensor([out.size(0)] * out.size(1)), requires_grad=False)
    loss = criterion(out, targets, sizes, target_sizes)
    loss = loss / inputs.size(0)  # average the loss by minibatch
    loss_value = loss.item()

    # compute gradient
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 4)
    # SGD step
    optimizer.step()
    history.append(loss_value)

# %%
model.eval()
inputs, targets, target_sizes = utterances(100)
with torch.no_grad():
    probs = model(inputs)
words = [t.tolist() for t in targets.split(target_sizes.tolist())]
right = sum(a == b for a, b in zip(greedy(probs), words)) / 100
sums = (probs.sum(2) - 1).abs().max().item()
print(history[0], history[-1], right, sums)
assert sums < 1e-5 and history[-1] < 0.2 * history[0] and right > 0.7
