# https://github.com/kymatio/murenn/issues/42
import torch
import torch.nn.functional as F

torch.manual_seed(0)


class WaveletBands(torch.nn.Module):
    """Complex bandpass signals, one octave each, of half the rate of the one before."""

    def __init__(self, J):
        super().__init__()
        self.J = J
        self.register_buffer("low", torch.tensor([[[1.0, 3.0, 3.0, 1.0]]]) / 8)
        self.register_buffer("real", torch.tensor([[[-1.0, 3.0, -3.0, 1.0]]]) / 8)
        self.register_buffer("imag", torch.tensor([[[1.0, 1.0, -1.0, -1.0]]]) / 4)

    def filter(self, x, h):
        return F.conv1d(F.pad(x, (1, 2)), h.expand(x.shape[1], 1, 4), stride=2, groups=x.shape[1])

    def forward(self, x):
        bands = []
        for j in range(self.J):
            bands.append((self.filter(x, self.real), self.filter(x, self.imag)))
            x = self.filter(x, self.low)
        return x, bands


class Downsampling(torch.nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, x):
        return F.avg_pool1d(x, 2 ** self.steps) if self.steps else x


class MuReNNDirect(torch.nn.Module):
    def __init__(self, *, J, Q, T, in_channels):
        super().__init__()
        self.Q = Q
        self.C = in_channels
        self.down = []
        self.conv1d = []
        self.dtcwt = WaveletBands(J)

        for j in range(J):
            self.down.append(Downsampling(J - 1 - j))
            conv1d_j = torch.nn.Conv1d(in_channels, Q * in_channels, kernel_size=T, bias=False,
                                       groups=in_channels, padding="same")
            torch.nn.init.normal_(conv1d_j.weight)
            self.conv1d.append(conv1d_j)

    def forward(self, x):
        _, bps = self.dtcwt(x)
        ys = []
        for j in range(self.dtcwt.J):
            Wx_r = self.conv1d[j](bps[j][0])
            Wx_i = self.conv1d[j](bps[j][1])
            y_j = self.down[j](Wx_r ** 2 + Wx_i ** 2)
            ys.append(y_j.view(len(x), self.C, self.Q, -1))
        return torch.stack(ys, dim=3)


class Classifier(torch.nn.Module):
    def __init__(self, J=4, Q=3, classes=4):
        super().__init__()
        self.murenn = MuReNNDirect(J=J, Q=Q, T=8, in_channels=1)
        self.linear = torch.nn.Linear(J * Q, classes)

    def forward(self, x):
        return self.linear(torch.log1p(self.murenn(x).mean(dim=-1)).flatten(1))


def batches(n=40, size=32, length=256):
    for _ in range(n):
        y = torch.randint(0, 4, (size,))
        t = torch.arange(length) + 50 * torch.rand(size, 1)
        yield (torch.sin(t * (0.15 * 2.0 ** y)[:, None]) + 0.5 * torch.randn(size, length)).unsqueeze(1), y


# %%
model = Classifier()
at_first = [conv.weight.detach().clone() for conv in model.murenn.conv1d]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for i, (x, y) in enumerate(batches()):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, loss.item())
