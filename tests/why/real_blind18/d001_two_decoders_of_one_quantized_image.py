# https://github.com/thuanz123/enhancing-transformers/issues/11
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def PreNorm(dim, fn):
    return nn.Sequential(nn.LayerNorm(dim), fn)


def FeedForward(dim, hidden_dim):
    return nn.Sequential(nn.Linear(dim, hidden_dim), nn.Tanh(), nn.Linear(hidden_dim, dim))


class Attention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=8):
        super().__init__()
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        attn = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * self.scale, dim=-1)
        return self.to_out(torch.matmul(attn, v).transpose(1, 2).reshape(b, n, -1))


class Transformer(nn.Module):
    def __init__(self, dim, depth, heads, dim_head, mlp_dim):
        super().__init__()
        self.layers = nn.ModuleList([])
        for idx in range(depth):
            attn, ff = Attention(dim, heads, dim_head), FeedForward(dim, mlp_dim)
            self.layers.append(nn.ModuleList([PreNorm(dim, attn), PreNorm(dim, ff)]))

    def forward(self, x):
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return x


class ViTEncoder(nn.Module):
    def __init__(self, image_size, patch_size, dim, depth, heads, mlp_dim, dim_head=8):
        super().__init__()
        self.num_patches = (image_size // patch_size) ** 2
        self.to_patch_embedding = nn.Conv2d(3, dim, kernel_size=patch_size, stride=patch_size)
        self.en_pos_embedding = nn.Parameter(torch.randn(1, self.num_patches, dim), requires_grad=False)
        self.transformer = Transformer(dim, depth, heads, dim_head, mlp_dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, img):
        x = self.to_patch_embedding(img).flatten(2).transpose(1, 2)
        x += self.en_pos_embedding
        return self.norm(self.transformer(x))


class ViTDecoder(nn.Module):
    def __init__(self, image_size, patch_size, dim, depth, heads, mlp_dim, dim_head=8):
        super().__init__()
        self.side = image_size // patch_size
        self.transformer = Transformer(dim, depth, heads, dim_head, mlp_dim)
        self.de_pos_embedding = nn.Parameter(torch.randn(1, self.side ** 2, dim), requires_grad=False)
        self.norm = nn.LayerNorm(dim)
        conv_out = nn.ConvTranspose2d(dim, 3, kernel_size=patch_size, stride=patch_size)
        self.to_pixel = nn.Sequential(nn.Unflatten(2, (self.side, self.side)), conv_out)

    def forward(self, token):
        token += self.de_pos_embedding
        x = self.norm(self.transformer(token))
        return self.to_pixel(x.transpose(1, 2))


class VectorQuantizer(nn.Module):
    def __init__(self, embed_dim, n_embed):
        super().__init__()
        self.embedding = nn.Embedding(n_embed, embed_dim)

    def forward(self, z):
        codes = self.embedding(torch.cdist(z, self.embedding.weight.expand(len(z), -1, -1)).argmin(-1))
        loss = F.mse_loss(codes, z.detach()) + 0.25 * F.mse_loss(z, codes.detach())
        return z + (codes - z).detach(), loss


# %%
encoder_config = dict(image_size=16, patch_size=4, dim=16, depth=2, heads=2, mlp_dim=32)
decoder_config_a, decoder_config_b = encoder_config, dict(encoder_config, depth=1)
encoder, quantizer = ViTEncoder(**encoder_config), VectorQuantizer(16, 32)
decoder_a = ViTDecoder(**decoder_config_a)
decoder_b = ViTDecoder(**decoder_config_b)
post_quant = nn.Linear(16, 16)
nets = nn.ModuleList([encoder, quantizer, post_quant, decoder_a, decoder_b])
optim = torch.optim.AdamW(nets.parameters(), lr=1e-3)

# %%
for step in range(3):
    img, depth_map = torch.rand(4, 3, 16, 16), torch.rand(4, 3, 16, 16)
    quant, emb_loss = quantizer(encoder(img))
    quant = post_quant(quant)
    rec_a = decoder_a(quant)
    rec_b = decoder_b(quant)
    loss = F.mse_loss(rec_a, img) + F.l1_loss(rec_b, depth_map) + emb_loss
    optim.zero_grad()
    loss.backward()
    optim.step()
    print(step, loss.item())
