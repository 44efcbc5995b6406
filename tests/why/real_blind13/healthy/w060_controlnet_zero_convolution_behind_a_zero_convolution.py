# https://github.com/lllyasviel/ControlNet/issues/510
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)


def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()
    return module


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.in_layers = nn.Sequential(nn.GroupNorm(4, ch), nn.SiLU(), nn.Conv2d(ch, ch, 3, padding=1))
        self.out_layers = nn.Sequential(nn.GroupNorm(4, ch), nn.SiLU(), zero_module(nn.Conv2d(ch, ch, 3, padding=1)))

    def forward(self, x):
        return x + self.out_layers(self.in_layers(x))


class UNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.conv_in = nn.Conv2d(1, ch, 3, padding=1)
        self.encoder = ResBlock(ch)
        self.decoder = ResBlock(ch)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, control=None):
        h = self.encoder(self.conv_in(x))
        if control is not None:
            h = h + control
        return self.out(self.decoder(h))


class ControlNet(nn.Module):
    def __init__(self, unet, ch=16):
        super().__init__()
        self.conv_in = copy.deepcopy(unet.conv_in)
        self.encoder = copy.deepcopy(unet.encoder)
        self.input_hint_block = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.SiLU(), zero_module(nn.Conv2d(ch, ch, 3, padding=1)))
        self.zero_conv = zero_module(nn.Conv2d(ch, ch, 1))

    def forward(self, x, hint):
        h = self.conv_in(x) + self.input_hint_block(hint)
        return self.zero_conv(self.encoder(h))


def draw_batch(n=16):
    hint = (torch.rand(n, 1, 8, 8) > 0.8).float()
    noisy = torch.randn(n, 1, 8, 8)
    return noisy, hint


# %%
unet = UNet()
optimizer = torch.optim.Adam(unet.parameters(), lr=2e-3)
for _ in range(40):
    noisy, _ = draw_batch()
    loss = (unet(noisy) - 0.5 * noisy).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
unet.requires_grad_(False)
control_model = ControlNet(unet)
control_model.requires_grad_(True)
opt = torch.optim.AdamW(control_model.parameters(), lr=5e-3)
locked_before = [p.clone() for p in unet.parameters()]
losses, norms = [], []
for step in range(120):
    noisy, hint = draw_batch()
    pred = unet(noisy, control=control_model(noisy, hint))
    loss = (pred - (0.5 * noisy + hint)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    norms.append((control_model.zero_conv.weight.grad.norm().item(), control_model.encoder.in_layers[2].weight.grad.norm().item()))
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1], norms[0], norms[5])
assert norms[0][0] > 0 and norms[0][1] == 0 and norms[5][1] > 0
assert losses[-1] < 0.4 * losses[0]
assert all(torch.equal(a, b) for a, b in zip(locked_before, unet.parameters()))
assert control_model.input_hint_block[0].weight.grad.abs().sum() > 0
