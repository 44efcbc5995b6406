# https://github.com/va1shn9v/PromptIR/issues/30
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)


class TransformerBlock(nn.Module):
    def __init__(self, dim, bias=False):
        super(TransformerBlock, self).__init__()
        self.norm1 = nn.GroupNorm(1, dim)
        self.qkv = nn.Conv2d(dim, dim * 3, kernel_size=1, bias=bias)
        self.temperature = nn.Parameter(torch.ones(1, 1, 1))
        self.project_out = nn.Conv2d(dim, dim, kernel_size=1, bias=bias)
        self.norm2 = nn.GroupNorm(1, dim)
        self.ffn = nn.Sequential(nn.Conv2d(dim, 2 * dim, 1, bias=bias), nn.GELU(), nn.Conv2d(2 * dim, dim, 1, bias=bias))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).flatten(2).chunk(3, dim=1)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        attn = (q @ k.transpose(-2, -1) * self.temperature).softmax(dim=-1)
        x = x + self.project_out((attn @ v).view_as(x))
        return x + self.ffn(self.norm2(x))


def Downsample(n_feat):
    return nn.Sequential(nn.Conv2d(n_feat, n_feat // 2, 3, 1, 1, bias=False), nn.PixelUnshuffle(2))


def Upsample(n_feat):
    return nn.Sequential(nn.Conv2d(n_feat, n_feat * 2, 3, 1, 1, bias=False), nn.PixelShuffle(2))


class PromptGenBlock(nn.Module):
    def __init__(self, prompt_dim, prompt_len=5, prompt_size=8, lin_dim=16):
        super(PromptGenBlock, self).__init__()
        self.prompt_param = nn.Parameter(torch.rand(1, prompt_len, prompt_dim, prompt_size, prompt_size))
        self.linear_layer = nn.Linear(lin_dim, prompt_len)
        self.conv3x3 = nn.Conv2d(prompt_dim, prompt_dim, kernel_size=3, stride=1, padding=1, bias=False)

    def forward(self, x):
        B, C, H, W = x.shape
        prompt_weights = F.softmax(self.linear_layer(x.mean(dim=(-2, -1))), dim=1)
        prompt = torch.sum(prompt_weights[:, :, None, None, None] * self.prompt_param, dim=1)
        return self.conv3x3(F.interpolate(prompt, (H, W), mode="bilinear"))


class PromptIR(nn.Module):
    def __init__(self, inp_channels=3, out_channels=3, dim=8, bias=False, decoder=False):
        super(PromptIR, self).__init__()
        self.patch_embed = nn.Conv2d(inp_channels, dim, kernel_size=3, stride=1, padding=1, bias=bias)
        self.decoder = decoder
        if self.decoder:
            self.prompt1 = PromptGenBlock(prompt_dim=8, prompt_size=8, lin_dim=dim * 2)
        self.chnl_reduce1 = nn.Conv2d(8, 8, kernel_size=1, bias=bias)
        self.reduce_noise_channel_1 = nn.Conv2d(dim + 8, dim, kernel_size=1, bias=bias)
        self.encoder_level1 = TransformerBlock(dim, bias=bias)
        self.down1_2 = Downsample(dim)
        self.latent = TransformerBlock(dim * 2, bias=bias)
        self.noise_level1 = TransformerBlock(dim * 2 + 8, bias=bias)
        self.reduce_noise_level1 = nn.Conv2d(dim * 2 + 8, dim * 2, kernel_size=1, bias=bias)
        self.up2_1 = Upsample(dim * 2)
        self.decoder_level1 = TransformerBlock(dim * 2, bias=bias)
        self.output = nn.Conv2d(dim * 2, out_channels, kernel_size=3, stride=1, padding=1, bias=bias)

    def forward(self, inp_img, noise_emb=None):
        out_enc_level1 = self.encoder_level1(self.patch_embed(inp_img))
        latent = self.latent(self.down1_2(out_enc_level1))
        if self.decoder:
            dec1_param = self.prompt1(latent)
            latent = self.noise_level1(torch.cat([latent, dec1_param], 1))
            latent = self.reduce_noise_level1(latent)
        inp_dec_level1 = torch.cat([self.up2_1(latent), out_enc_level1], 1)
        return self.output(self.decoder_level1(inp_dec_level1)) + inp_img


# %%
if not dist.is_initialized():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = PromptIR(decoder=True)
model = DistributedDataParallel(net)
loss_fn = nn.L1Loss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)

# %%
for step in range(4):
    clean_patch = torch.rand(2, 3, 16, 16)
    degrad_patch = (clean_patch + 0.1 * torch.randn_like(clean_patch)).clamp(0, 1)
    restored = model(degrad_patch)
    loss = loss_fn(restored, clean_patch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
