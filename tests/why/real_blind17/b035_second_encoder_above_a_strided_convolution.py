# https://github.com/modelscope/FunASR/issues/312
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Conv1dSubsampling(nn.Module):
    """Convolutional 1D subsampling (to 1/2 length)."""

    def __init__(self, idim, odim, kernel_size, stride, pad):
        super(Conv1dSubsampling, self).__init__()
        self.conv = nn.Conv1d(idim, odim, kernel_size, stride)
        self.pad_fn = nn.ConstantPad1d(pad, 0.0)
        self.stride = stride
        self.odim = odim

    def output_size(self):
        return self.odim

    def forward(self, x, x_len):
        x = x.transpose(1, 2)  # (b, d ,t)
        x = self.pad_fn(x)
        x = F.relu(self.conv(x))
        x = x.transpose(1, 2)  # (b, t ,d)
        x_len = (x_len - 1) // self.stride + 1
        return x, x_len


class SinusoidalPositionEncoder(nn.Module):
    def forward(self, x):
        timesteps, depth = x.size(1), x.size(2)
        scale = torch.exp(torch.arange(depth / 2) * -(math.log(10000.0) / (depth / 2 - 1)))
        scaled_time = torch.arange(1, timesteps + 1).view(-1, 1) * scale.view(1, -1)
        return x + torch.cat([torch.sin(scaled_time), torch.cos(scaled_time)], dim=1)


class EncoderLayer(nn.Module):
    def __init__(self, size):
        super(EncoderLayer, self).__init__()
        self.norm1 = nn.LayerNorm(size)
        self.self_attn = nn.MultiheadAttention(size, 2, batch_first=True)
        self.norm2 = nn.LayerNorm(size)
        self.feed_forward = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))

    def forward(self, x, masks):
        y = self.norm1(x)
        x = x + self.self_attn(y, y, y, key_padding_mask=masks, need_weights=False)[0]
        return x + self.feed_forward(self.norm2(x))


class SANMEncoder(nn.Module):
    def __init__(self, input_size, output_size, num_blocks=1):
        super(SANMEncoder, self).__init__()
        self._output_size = output_size
        self.embed = SinusoidalPositionEncoder()
        self.inp = nn.Linear(input_size, output_size)
        self.encoders = nn.ModuleList(EncoderLayer(output_size) for _ in range(num_blocks))
        self.after_norm = nn.LayerNorm(output_size)

    def output_size(self):
        return self._output_size

    def forward(self, xs_pad, ilens):
        masks = torch.arange(xs_pad.size(1)).unsqueeze(0) >= ilens.unsqueeze(1)
        xs_pad *= self.output_size() ** 0.5
        xs_pad = self.inp(self.embed(xs_pad))
        for encoder in self.encoders:
            xs_pad = encoder(xs_pad, masks)
        return self.after_norm(xs_pad), ilens


class UniASR(nn.Module):
    def __init__(self, vocab_size=20, input_size=12, size=16):
        super(UniASR, self).__init__()
        self.encoder = SANMEncoder(input_size, size)
        self.ctc_lo = nn.Linear(size, vocab_size)
        self.stride_conv = Conv1dSubsampling(size + input_size, size, kernel_size=2, stride=2, pad=(0, 1))
        self.encoder2 = SANMEncoder(self.stride_conv.output_size(), size)
        self.ctc_lo2 = nn.Linear(size, vocab_size)

    def calc_ctc_loss(self, logits, lens, text, text_lengths):
        log_probs = F.log_softmax(logits, dim=-1).transpose(0, 1)
        return F.ctc_loss(log_probs, text, lens, text_lengths, zero_infinity=True)

    def forward(self, speech, speech_lengths, text, text_lengths):
        # 1. Encoder
        encoder_out, encoder_out_lens = self.encoder(speech.clone(), speech_lengths)
        loss1 = self.calc_ctc_loss(self.ctc_lo(encoder_out), encoder_out_lens, text, text_lengths)
        # 2. Encoder2
        speech2, lens2 = self.stride_conv(torch.cat((encoder_out, speech), dim=-1), encoder_out_lens)
        encoder_out2, lens2 = self.encoder2(speech2, lens2)
        loss2 = self.calc_ctc_loss(self.ctc_lo2(encoder_out2), lens2, text, text_lengths)
        return 0.5 * loss1 + 0.5 * loss2


# %%
model = UniASR()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
speech, speech_lengths = torch.randn(3, 20, 12), torch.tensor([20, 18, 15])
text, text_lengths = torch.randint(1, 20, (3, 4)), torch.tensor([4, 3, 4])

# %%
for step in range(3):
    loss = model(speech, speech_lengths, text, text_lengths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
