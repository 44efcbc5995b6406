# https://github.com/ai2cm/ace/pull/1493
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class FourierNeuralOperatorBlock(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.norm0 = nn.InstanceNorm2d(embed_dim, affine=True)
        self.filter = nn.Conv2d(embed_dim, embed_dim, 3, padding=1, padding_mode="circular")
        self.mlp = nn.Sequential(nn.Conv2d(embed_dim, 2 * embed_dim, 1), nn.GELU(), nn.Conv2d(2 * embed_dim, embed_dim, 1))

    def forward(self, x, context):
        residual = x
        x = self.filter(self.norm0(x) * (1 + context))
        return residual + self.mlp(x)


class SphericalFourierNeuralOperatorNet(nn.Module):
    """checkpointing: 0 nothing, 1 encoder and decoder, 3 the blocks too."""

    def __init__(self, in_chans=5, out_chans=5, embed_dim=8, num_layers=2, checkpointing=0, big_skip=True):
        super().__init__()
        self.checkpointing = checkpointing
        self.big_skip = big_skip
        self.encoder = nn.Sequential(nn.Conv2d(in_chans, embed_dim, 1), nn.GELU(), nn.Conv2d(embed_dim, embed_dim, 1, bias=False))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, embed_dim, 8, 16))
        self.context = nn.Linear(3, embed_dim)
        self.blocks = nn.ModuleList(FourierNeuralOperatorBlock(embed_dim) for _ in range(num_layers))
        self.decoder = nn.Sequential(nn.Conv2d(embed_dim + big_skip * in_chans, embed_dim, 1), nn.GELU(), nn.Conv2d(embed_dim, out_chans, 1))

    def forward_features(self, x, context):
        for blk in self.blocks:
            if self.checkpointing >= 3:
                x = checkpoint(blk, x, context, use_reentrant=True)
            else:
                x = blk(x, context)
        return x

    def forward(self, x, context):
        if self.big_skip:
            residual = x
        if self.checkpointing >= 1:
            x = checkpoint(self.encoder, x, use_reentrant=True)
        else:
            x = self.encoder(x)
        x = x + self.pos_embed
        context = self.context(context)[:, :, None, None]
        x = self.forward_features(x, context)
        if self.big_skip:
            x = torch.cat((x, residual), dim=1)
        if self.checkpointing >= 1:
            x = checkpoint(self.decoder, x, use_reentrant=True)
        else:
            x = self.decoder(x)
        return x


# %%
model = SphericalFourierNeuralOperatorNet(checkpointing=3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for step in range(2):
    x, target = torch.randn(2, 5, 8, 16), torch.randn(2, 5, 8, 16)
    labels = torch.randn(2, 3)
    optimizer.zero_grad()
    loss = (model(x, labels) - target).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), [name for name, p in model.named_parameters() if p.grad is None])
