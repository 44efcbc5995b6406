# https://github.com/facebookresearch/mae/issues/118
import torch
import torch.nn as nn

torch.manual_seed(0)


def sincos_pos_embed(length, dim):
    position = torch.arange(length)[:, None]
    rate = 1 / 100 ** (torch.arange(dim // 2) / (dim // 2))
    return torch.cat([torch.sin(position * rate), torch.cos(position * rate)], 1)[None]


def block(dim):
    return nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, activation='gelu', batch_first=True, norm_first=True)


class MaskedAutoencoder(nn.Module):
    def __init__(self, patch=2, num_patches=36, dim=32, decoder_dim=32):
        super().__init__()
        self.patch = patch
        self.patch_embed = nn.Conv2d(1, dim, patch, stride=patch)
        self.pos_embed = nn.Parameter(sincos_pos_embed(num_patches, dim), requires_grad=False)
        self.blocks = nn.Sequential(block(dim), block(dim))
        self.norm = nn.LayerNorm(dim)
        self.decoder_embed = nn.Linear(dim, decoder_dim)
        self.mask_token = nn.Parameter(0.02 * torch.randn(1, 1, decoder_dim))
        self.decoder_pos_embed = nn.Parameter(sincos_pos_embed(num_patches, decoder_dim), requires_grad=False)
        self.decoder_block = block(decoder_dim)
        self.decoder_pred = nn.Linear(decoder_dim, patch ** 2)

    def patchify(self, imgs):
        return nn.functional.unfold(imgs, self.patch, stride=self.patch).transpose(1, 2)

    def random_masking(self, x, mask_ratio):
        N, L, D = x.shape
        len_keep = int(L * (1 - mask_ratio))
        ids_shuffle = torch.rand(N, L).argsort(1)
        ids_restore = ids_shuffle.argsort(1)
        x_masked = x.gather(1, ids_shuffle[:, :len_keep, None].expand(-1, -1, D))
        mask = torch.ones(N, L)
        mask[:, :len_keep] = 0
        return x_masked, mask.gather(1, ids_restore), ids_restore

    def forward_encoder(self, imgs, mask_ratio):
        x = self.patch_embed(imgs).flatten(2).transpose(1, 2) + self.pos_embed
        x, mask, ids_restore = self.random_masking(x, mask_ratio)
        return self.norm(self.blocks(x)), mask, ids_restore

    def forward_decoder(self, x, ids_restore):
        x = self.decoder_embed(x)
        tokens = self.mask_token.expand(len(x), ids_restore.shape[1] - x.shape[1], -1)
        x = torch.cat([x, tokens], dim=1)
        x = x.gather(1, ids_restore[:, :, None].expand(-1, -1, x.shape[2])) + self.decoder_pos_embed
        return self.decoder_pred(self.decoder_block(x))

    def forward(self, imgs, mask_ratio=0.5):
        latent, mask, ids_restore = self.forward_encoder(imgs, mask_ratio)
        pred = self.forward_decoder(latent, ids_restore)
        per_patch = (pred - self.patchify(imgs)).pow(2).mean(-1)
        return (per_patch * mask).sum() / mask.sum(), pred, mask


def draw(n=24):
    phase, angle = 6.28 * torch.rand(n, 1, 1), 3.14 * torch.rand(n, 1, 1)
    y, x = torch.meshgrid(torch.arange(12.), torch.arange(12.), indexing='ij')
    return torch.sin(0.5 * (x * torch.cos(angle) + y * torch.sin(angle)) + phase)[:, None]


# %%
model = MaskedAutoencoder()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3, betas=(0.9, 0.95))
history = []
for step in range(120):
    loss, pred, mask = model(draw())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())

# %%
with torch.no_grad():
    imgs = draw(200)
    loss, pred, mask = model(imgs)
    per_patch = (pred - model.patchify(imgs)).pow(2).mean(-1)
masked_error, visible_error = per_patch[mask == 1].mean().item(), per_patch[mask == 0].mean().item()
print(history[0], history[-1], masked_error, visible_error)
assert masked_error < 0.6 * history[0] and model.pos_embed.grad is None
assert all(p.grad is not None for p in model.parameters() if p.requires_grad)
