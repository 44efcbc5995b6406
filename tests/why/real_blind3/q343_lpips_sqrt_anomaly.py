# https://github.com/richzhang/PerceptualSimilarity/issues/69
import torch
import torch.nn as nn

torch.manual_seed(0)


def normalize_tensor(in_feat, eps=1e-10):
    norm_factor = torch.sqrt(torch.sum(in_feat**2, dim=1, keepdim=True))
    return in_feat / (norm_factor + eps)


class ScalingLayer(nn.Module):
    def __init__(self):
        super(ScalingLayer, self).__init__()
        self.register_buffer('shift', torch.Tensor([-.030, -.088, -.188])[None, :, None, None])
        self.register_buffer('scale', torch.Tensor([.458, .448, .450])[None, :, None, None])

    def forward(self, inp):
        return (inp - self.shift) / self.scale


class LPIPS(nn.Module):
    """Learned perceptual metric, on a frozen network."""

    def __init__(self):
        super(LPIPS, self).__init__()
        self.scaling_layer = ScalingLayer()
        self.slice1 = nn.Sequential(nn.Conv2d(3, 2, 3, padding=1), nn.ReLU())
        self.slice2 = nn.Sequential(nn.Conv2d(2, 6, 3, stride=2, padding=1), nn.ReLU())
        self.lins = nn.ModuleList([nn.Conv2d(2, 1, 1, bias=False), nn.Conv2d(6, 1, 1, bias=False)])
        for param in self.parameters():
            param.requires_grad = False
        self.eval()

    def features(self, x):
        h1 = self.slice1(self.scaling_layer(x))
        return [h1, self.slice2(h1)]

    def forward(self, in0, in1):
        val = 0
        for kk, (f0, f1) in enumerate(zip(self.features(in0), self.features(in1))):
            diff = (normalize_tensor(f0) - normalize_tensor(f1)) ** 2
            val = val + self.lins[kk](diff).mean([2, 3], keepdim=True)
        return val


# %%
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3 * 8 * 8)

    def forward(self, z):
        return torch.tanh(self.fc(z)).view(-1, 3, 8, 8)


decoder = Decoder()
loss_fn_vgg = LPIPS()
optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)
z, img = torch.randn(4, 8), torch.rand(4, 3, 8, 8) * 2 - 1

# %%
with torch.autograd.detect_anomaly():
    rec = decoder(z)
    loss = loss_fn_vgg(rec, img).mean() + (rec - img).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
