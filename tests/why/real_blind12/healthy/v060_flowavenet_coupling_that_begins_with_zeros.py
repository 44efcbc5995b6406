# https://github.com/ksw0306/FloWaveNet/issues/9
import torch
from torch import nn
from math import log, pi

torch.manual_seed(0)


class ZeroConv1d(nn.Module):
    def __init__(self, in_channel, out_channel):
        super().__init__()
        self.conv = nn.Conv1d(in_channel, out_channel, 1, padding=0)
        self.conv.weight.data.zero_()
        self.conv.bias.data.zero_()
        self.scale = nn.Parameter(torch.zeros(1, out_channel, 1))

    def forward(self, x):
        out = self.conv(x)
        out = out * torch.exp(self.scale * 3)
        return out


class Wavenet(nn.Module):
    def __init__(self, in_channels, out_channels, channels=16):
        super().__init__()
        self.front = nn.Conv1d(in_channels, channels, 3, padding=1)
        self.filter_conv = nn.Conv1d(channels, channels, 3, padding=2, dilation=2)
        self.gate_conv = nn.Conv1d(channels, channels, 3, padding=2, dilation=2)
        self.final = ZeroConv1d(channels, out_channels)

    def forward(self, x):
        h = torch.relu(self.front(x))
        h = h + torch.tanh(self.filter_conv(h)) * torch.sigmoid(self.gate_conv(h))
        return self.final(h)


class Flow(nn.Module):
    def __init__(self, in_channel):
        super().__init__()
        self.net = Wavenet(in_channel // 2, in_channel)

    def forward(self, x):
        in_a, in_b = x.chunk(2, 1)
        log_s, t = self.net(in_a).chunk(2, 1)
        out_b = (in_b - t) * torch.exp(-log_s)
        return torch.cat([out_b, in_a], 1), torch.sum(-log_s)


class Flowavenet(nn.Module):
    def __init__(self, in_channel=1, n_flow=4):
        super().__init__()
        self.flows = nn.ModuleList([Flow(in_channel * 2) for _ in range(n_flow)])

    def forward(self, x):
        B, C, T = x.size()
        out = x.view(B, C, T // 2, 2).permute(0, 1, 3, 2).reshape(B, C * 2, T // 2)
        logdet = 0
        for flow in self.flows:
            out, det = flow(out)
            logdet = logdet + det
        log_p = 0.5 * (-log(2.0 * pi) - out.pow(2)).sum()
        return log_p / (B * T), logdet / (B * T)


# %%
model = Flowavenet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
time = torch.arange(64) / 8.
first_output, first_logdet = model(torch.randn(2, 1, 64))
assert first_logdet.item() == 0

# %%
epoch_loss = []
for batch_idx in range(100):
    phase = torch.rand(8, 1, 1) * 6
    x = 0.6 * torch.sin(time + phase) + 0.05 * torch.randn(8, 1, 64)
    optimizer.zero_grad()
    log_p, logdet = model(x)
    loss = -(log_p + logdet)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.)
    optimizer.step()
    epoch_loss.append(loss.item())
print(epoch_loss[0], epoch_loss[-1])
assert epoch_loss[-1] < epoch_loss[0] - 0.5
assert model.flows[0].net.final.conv.weight.abs().sum() > 0
assert model.flows[0].net.front.weight.grad.abs().sum() > 0
