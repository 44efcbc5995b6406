# https://github.com/facebookresearch/mae/blob/main/models_mae.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class MaskedAutoencoder(nn.Module):
    def __init__(self, num_patches=16, patch_dim=12, embed_dim=16, decoder_embed_dim=8):
        super().__init__()
        self.patch_embed = nn.Linear(patch_dim, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(torch.randn(1, num_patches + 1, embed_dim), requires_grad=False)  # fixed sin-cos embedding
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(embed_dim, 2, 32, batch_first=True) for _ in range(2)])
        self.decoder_embed = nn.Linear(embed_dim, decoder_embed_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, decoder_embed_dim))
        self.decoder_pos_embed = nn.Parameter(torch.randn(1, num_patches + 1, decoder_embed_dim), requires_grad=False)
        self.decoder_block = nn.TransformerEncoderLayer(decoder_embed_dim, 2, 16, batch_first=True)
        self.decoder_pred = nn.Linear(decoder_embed_dim, patch_dim)

    def random_masking(self, x, mask_ratio):
        N, L, D = x.shape
        len_keep = int(L * (1 - mask_ratio))
        noise = torch.rand(N, L)
        ids_shuffle = torch.argsort(noise, dim=1)
        ids_restore = torch.argsort(ids_shuffle, dim=1)
        ids_keep = ids_shuffle[:, :len_keep]
        x_masked = torch.gather(x, dim=1, index=ids_keep.unsqueeze(-1).repeat(1, 1, D))
        mask = torch.ones([N, L])
        mask[:, :len_keep] = 0
        mask = torch.gather(mask, dim=1, index=ids_restore)
        return x_masked, mask, ids_restore

    def forward(self, imgs, mask_ratio=0.75):
        x = self.patch_embed(imgs) + self.pos_embed[:, 1:, :]
        x, mask, ids_restore = self.random_masking(x, mask_ratio)
        cls_token = self.cls_token + self.pos_embed[:, :1, :]
        x = torch.cat((cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        for blk in self.blocks:
            x = blk(x)
        x = self.decoder_embed(x)
        mask_tokens = self.mask_token.repeat(x.shape[0], ids_restore.shape[1] + 1 - x.shape[1], 1)
        x_ = torch.cat([x[:, 1:, :], mask_tokens], dim=1)
        x_ = torch.gather(x_, dim=1, index=ids_restore.unsqueeze(-1).repeat(1, 1, x.shape[2]))
        x = torch.cat([x[:, :1, :], x_], dim=1) + self.decoder_pos_embed
        pred = self.decoder_pred(self.decoder_block(x))[:, 1:, :]
        loss = ((pred - imgs) ** 2).mean(dim=-1)
        return (loss * mask).sum() / mask.sum()  # mean loss on removed patches


# %%
model = MaskedAutoencoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))

# %%
for step in range(3):
    loss = model(torch.randn(4, 16, 12))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
