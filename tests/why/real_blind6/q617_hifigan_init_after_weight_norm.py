# https://github.com/jik876/hifi-gan/issues/145
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm

torch.manual_seed(0)

LRELU_SLOPE = 0.1


def init_weights(m, mean=0.0, std=0.01):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.normal_(mean, std)


class Generator(nn.Module):
    def __init__(self, n_mels=8, upsample_initial_channel=16):
        super(Generator, self).__init__()
        self.conv_pre = weight_norm(nn.Conv1d(n_mels, upsample_initial_channel, 7, 1, padding=3))
        self.ups = nn.ModuleList()
        ch = upsample_initial_channel
        for u, k in ((4, 8), (2, 4)):
            self.ups.append(weight_norm(nn.ConvTranspose1d(ch, ch // 2, k, u, padding=(k - u) // 2)))
            ch = ch // 2
        self.conv_post = weight_norm(nn.Conv1d(ch, 1, 7, 1, padding=3))
        self.ups.apply(init_weights)

    def forward(self, x):
        x = self.conv_pre(x)
        for up in self.ups:
            x = up(F.leaky_relu(x, LRELU_SLOPE))
        return torch.tanh(self.conv_post(F.leaky_relu(x)))


# %%
generator = Generator()
optim_g = torch.optim.AdamW(generator.parameters(), 2e-4, betas=(0.8, 0.99))
print(generator.ups[0].weight.std())

# %%
for steps in range(2):
    x, y = torch.randn(2, 8, 10), torch.rand(2, 1, 80) * 2 - 1
    y_g_hat = generator(x)
    print(generator.ups[0].weight.std())
    loss_mel = F.l1_loss(y_g_hat, y) * 45
    optim_g.zero_grad()
    loss_mel.backward()
    optim_g.step()
