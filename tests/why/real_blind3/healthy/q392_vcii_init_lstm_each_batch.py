# https://github.com/chaoyuaw/pytorch-vcii/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
iterations, bits = 3, 8


class ConvLSTMCell(nn.Module):
    def __init__(self, input_channels, hidden_channels):
        super().__init__()
        self.conv_ih = nn.Conv2d(input_channels, 4 * hidden_channels, 3, padding=1)
        self.conv_hh = nn.Conv2d(hidden_channels, 4 * hidden_channels, 1)

    def forward(self, x, hidden):
        hx, cx = hidden
        i, f, g, o = (self.conv_ih(x) + self.conv_hh(hx)).chunk(4, 1)
        cx = torch.sigmoid(f) * cx + torch.sigmoid(i) * torch.tanh(g)
        hx = torch.sigmoid(o) * torch.tanh(cx)
        return hx, (hx, cx)


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x > 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def init_lstm(batch_size, height, width):
    encoder_h_1 = (torch.zeros(batch_size, 8, height, width), torch.zeros(batch_size, 8, height, width))
    decoder_h_1 = (torch.zeros(batch_size, 8, height, width), torch.zeros(batch_size, 8, height, width))
    return encoder_h_1, decoder_h_1


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = ConvLSTMCell(3, 8), ConvLSTMCell(bits, 8)
        self.binarizer, self.out = nn.Conv2d(8, bits, 1), nn.Conv2d(8, 3, 1)


# %%
net = Codec()
solver = torch.optim.Adam(net.parameters(), lr=5e-4)
weights_before = {n: p.detach().clone() for n, p in net.named_parameters()}

# %%
for batch_id in range(2):
    crops = torch.rand(2, 3, 6, 6)
    # init lstm states
    encoder_h_1, decoder_h_1 = init_lstm(2, 6, 6)
    solver.zero_grad()
    losses = []
    res = crops - 0.5
    for _ in range(iterations):
        encoded, encoder_h_1 = net.encoder(res, encoder_h_1)
        codes = Sign.apply(torch.tanh(net.binarizer(encoded)))
        decoded, decoder_h_1 = net.decoder(codes, decoder_h_1)
        res = res - torch.tanh(net.out(decoded)) / 2
        losses.append(res.abs().mean())
    loss = sum(losses) / iterations
    loss.backward()
    solver.step()
    print('batch {} loss {:.4f} per iteration {}'.format(batch_id, loss.item(), [round(l.item(), 3) for l in losses]))
