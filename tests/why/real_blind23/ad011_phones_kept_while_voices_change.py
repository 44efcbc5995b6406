# https://github.com/yl4579/StarGANv2-VC/issues/72
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ConvNorm(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=1, stride=1,
                 padding=None, dilation=1, bias=True, w_init_gain='linear'):
        super(ConvNorm, self).__init__()
        if padding is None:
            assert(kernel_size % 2 == 1)
            padding = int(dilation * (kernel_size - 1) / 2)
        self.conv = torch.nn.Conv1d(in_channels, out_channels, kernel_size=kernel_size, stride=stride,
                                    padding=padding, dilation=dilation, bias=bias)
        torch.nn.init.xavier_uniform_(self.conv.weight, gain=torch.nn.init.calculate_gain(w_init_gain))

    def forward(self, signal):
        return self.conv(signal)


class ConvBlock(nn.Module):
    def __init__(self, hidden_dim, n_conv=3, dropout_p=0.2):
        super().__init__()
        self._n_groups = 8
        self.blocks = nn.ModuleList([
            self._get_conv(hidden_dim, dilation=3**i, dropout_p=dropout_p)
            for i in range(n_conv)])

    def forward(self, x):
        for block in self.blocks:
            res = x
            x = block(x)
            x += res
        return x

    def _get_conv(self, hidden_dim, dilation, dropout_p=0.2):
        layers = [
            ConvNorm(hidden_dim, hidden_dim, kernel_size=3, padding=dilation, dilation=dilation),
            nn.ReLU(),
            nn.GroupNorm(num_groups=self._n_groups, num_channels=hidden_dim),
            nn.Dropout(p=dropout_p),
            ConvNorm(hidden_dim, hidden_dim, kernel_size=3, padding=1, dilation=1),
            nn.ReLU(),
            nn.Dropout(p=dropout_p)
        ]
        return nn.Sequential(*layers)


class ASRCNN(nn.Module):
    def __init__(self, input_dim=40, hidden_dim=32, n_layers=2):
        super().__init__()
        self.init_cnn = ConvNorm(input_dim, hidden_dim, kernel_size=7, padding=3, stride=2)
        self.cnns = nn.Sequential(
            *[nn.Sequential(
                ConvBlock(hidden_dim),
                nn.GroupNorm(num_groups=1, num_channels=hidden_dim)
            ) for n in range(n_layers)])
        self.projection = ConvNorm(hidden_dim, hidden_dim // 2)

    def get_feature(self, x):
        x = self.init_cnn(x.squeeze(1))
        x = self.cnns(x)
        x = self.projection(x)
        return x


class Generator(nn.Module):
    def __init__(self, style_dim=8):
        super().__init__()
        self.encode = nn.Conv2d(1, 16, 3, 1, 1)
        self.style = nn.Linear(style_dim, 16)
        self.decode = nn.Conv2d(16, 1, 3, 1, 1)

    def forward(self, x, s):
        h = F.leaky_relu(self.encode(x), 0.2)
        h = F.instance_norm(h) * (1 + self.style(s)[:, :, None, None])
        return x + self.decode(h)


class Discriminator(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3, 2, 1))


def adv_loss(logits, target):
    targets = torch.full_like(logits, fill_value=target)
    return F.binary_cross_entropy_with_logits(logits, targets)


# %%
nets = {'generator': Generator(), 'discriminator': Discriminator(), 'asr_model': ASRCNN()}
for key in nets:
    nets[key].train()
_ = nets['asr_model'].eval()
optimizer = torch.optim.AdamW(nets['generator'].parameters(), lr=1e-4, betas=(0.0, 0.99))
x_real = torch.randn(4, 1, 40, 96)
s_trg = torch.randn(4, 8)

# %%
for step in range(3):
    # compute ASR features (real)
    with torch.no_grad():
        ASR_real = nets['asr_model'].get_feature(x_real)

    # adversarial loss
    x_fake = nets['generator'](x_real, s_trg)
    loss_adv = adv_loss(nets['discriminator'](x_fake), 1)

    # ASR loss
    ASR_fake = nets['asr_model'].get_feature(x_fake)
    loss_asr = F.smooth_l1_loss(ASR_fake, ASR_real)

    g_loss = loss_adv + 10 * loss_asr
    optimizer.zero_grad()
    g_loss.backward()
    optimizer.step()
    print(step, loss_adv.item(), loss_asr.item())
