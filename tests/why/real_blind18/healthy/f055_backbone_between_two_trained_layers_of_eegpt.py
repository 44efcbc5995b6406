# https://github.com/BINE022/EEGPT/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Conv1dWithConstraint(nn.Conv1d):
    def __init__(self, *args, max_norm=1, **kwargs):
        self.max_norm = max_norm
        super(Conv1dWithConstraint, self).__init__(*args, **kwargs)

    def forward(self, x):
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.max_norm)
        return super(Conv1dWithConstraint, self).forward(x)


class LinearWithConstraint(nn.Linear):
    def __init__(self, *args, max_norm=1, **kwargs):
        self.max_norm = max_norm
        super(LinearWithConstraint, self).__init__(*args, **kwargs)

    def forward(self, x):
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.max_norm)
        return super(LinearWithConstraint, self).forward(x)


class EEGTransformer(nn.Module):
    def __init__(self, channels, embed_dim=16, patch=8):
        super().__init__()
        self.patch_embed = nn.Conv1d(channels, embed_dim, patch, stride=patch)
        self.blocks = nn.Sequential(*[nn.TransformerEncoderLayer(embed_dim, 2, 32, dropout=0.1, batch_first=True) for _ in range(2)])
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, x):
        x = self.patch_embed(x).transpose(1, 2)
        return self.norm(self.blocks(x))


class LitEEGPTCausal(nn.Module):
    def __init__(self, target_encoder):
        super().__init__()
        self.target_encoder = target_encoder
        self.chan_conv = Conv1dWithConstraint(6, 4, 1, max_norm=1)
        self.linear_probe1 = LinearWithConstraint(16, 8, max_norm=1)
        self.linear_probe2 = LinearWithConstraint(8 * 8, 2, max_norm=0.25)
        self.drop = torch.nn.Dropout(p=0.5)
        self.loss_fn = torch.nn.CrossEntropyLoss()

    def forward(self, x):
        x = self.chan_conv(x)
        self.target_encoder.eval()
        z = self.target_encoder(x)
        h = self.linear_probe1(self.drop(z)).flatten(1)
        return x, self.linear_probe2(h)

    def training_step(self, batch):
        return self.loss_fn(self.forward(batch[0])[1], batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(
            list(self.chan_conv.parameters()) + list(self.linear_probe1.parameters()) +
            list(self.linear_probe2.parameters()), lr=2e-2, weight_decay=0.01)


def recordings(n, channels):
    y = torch.randint(0, 2, (n,))
    t = torch.arange(64.0)
    speed = torch.tensor([0.2, 0.6])[y].view(n, 1, 1)
    return 1.5 * torch.sin(speed * t + torch.rand(n, channels, 1)) + 0.5 * torch.randn(n, channels, 64), y


# %%
encoder = EEGTransformer(4)
probe = nn.Linear(16, 2)
pretrain = torch.optim.Adam([*encoder.parameters(), *probe.parameters()], lr=3e-3)
for _ in range(40):
    x, y = recordings(64, 4)
    pretrain.zero_grad()
    F.cross_entropy(probe(encoder(x).mean(1)), y).backward()
    pretrain.step()
pretrain.zero_grad()

# %%
model = LitEEGPTCausal(encoder)
optimizer = model.configure_optimizers()
encoder_before = [p.detach().clone() for p in encoder.parameters()]
conv_before = model.chan_conv.weight.detach().clone()
losses = []
for step in range(100):
    model.train()
    loss = model.training_step(recordings(64, 6))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    x, y = recordings(400, 6)
    accuracy = (model(x)[1].argmax(1) == y).float().mean().item()
encoder_moved = any(not torch.equal(a, b) for a, b in zip(encoder_before, encoder.parameters()))
conv_moved = (model.chan_conv.weight - conv_before).abs().max().item()
print(losses[0], losses[-1], accuracy, encoder_moved, conv_moved)
assert not encoder_moved and conv_moved > 1e-2
assert all(p.grad is not None for p in encoder.parameters())
assert accuracy > 0.85
