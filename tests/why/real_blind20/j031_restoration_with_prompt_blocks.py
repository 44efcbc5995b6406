# https://github.com/va1shn9v/PromptIR/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FeedForward(nn.Module):
    def __init__(self, dim, ffn_expansion_factor=2):
        super(FeedForward, self).__init__()
        hidden = int(dim * ffn_expansion_factor)
        self.project_in = nn.Conv2d(dim, hidden * 2, kernel_size=1)
        self.dwconv = nn.Conv2d(hidden * 2, hidden * 2, kernel_size=3, padding=1, groups=hidden * 2)
        self.project_out = nn.Conv2d(hidden, dim, kernel_size=1)

    def forward(self, x):
        x1, x2 = self.dwconv(self.project_in(x)).chunk(2, dim=1)
        return self.project_out(F.gelu(x1) * x2)


class TransformerBlock(nn.Module):
    def __init__(self, dim):
        super(TransformerBlock, self).__init__()
        self.norm1, self.norm2 = nn.GroupNorm(1, dim), nn.GroupNorm(1, dim)
        self.qkv = nn.Conv2d(dim, dim * 3, kernel_size=1)
        self.project_out = nn.Conv2d(dim, dim, kernel_size=1)
        self.ffn = FeedForward(dim)

    def attn(self, x):
        b, c, h, w = x.shape
        q, k, v = (t.flatten(2) for t in self.qkv(x).chunk(3, dim=1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        out = (q @ k.transpose(-2, -1)).softmax(dim=-1) @ v
        return self.project_out(out.view(b, c, h, w))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


# Prompt Gen Module
class PromptGenBlock(nn.Module):
    def __init__(self, prompt_dim=16, prompt_len=5, prompt_size=8, lin_dim=16):
        super(PromptGenBlock, self).__init__()
        self.prompt_param = nn.Parameter(torch.rand(1, prompt_len, prompt_dim, prompt_size, prompt_size))
        self.linear_layer = nn.Linear(lin_dim, prompt_len)
        self.conv3x3 = nn.Conv2d(prompt_dim, prompt_dim, kernel_size=3, stride=1, padding=1, bias=False)

    def forward(self, x):
        B, C, H, W = x.shape
        emb = x.mean(dim=(-2, -1))
        prompt_weights = F.softmax(self.linear_layer(emb), dim=1)
        prompt_param = self.prompt_param.data.unsqueeze(0).repeat(B, 1, 1, 1, 1, 1).squeeze(1)
        prompt = prompt_weights.unsqueeze(-1).unsqueeze(-1).unsqueeze(-1) * prompt_param
        prompt = torch.sum(prompt, dim=1)
        prompt = F.interpolate(prompt, (H, W), mode="bilinear")
        return self.conv3x3(prompt)


class PromptIR(nn.Module):
    def __init__(self, inp_channels=3, out_channels=3, dim=16, decoder=True):
        super(PromptIR, self).__init__()
        self.patch_embed = nn.Conv2d(inp_channels, dim, kernel_size=3, padding=1)
        self.decoder = decoder
        if self.decoder:
            self.prompt1 = PromptGenBlock(prompt_dim=dim, prompt_len=5, prompt_size=8, lin_dim=dim)
            self.noise_level1 = TransformerBlock(dim * 2)
            self.reduce_noise_level1 = nn.Conv2d(dim * 2, dim, kernel_size=1)
        self.encoder_level1 = TransformerBlock(dim)
        self.decoder_level1 = TransformerBlock(dim)
        self.output = nn.Conv2d(dim, out_channels, kernel_size=3, padding=1)

    def forward(self, inp_img):
        out_dec_level1 = self.encoder_level1(self.patch_embed(inp_img))
        if self.decoder:
            dec1_param = self.prompt1(out_dec_level1)
            out_dec_level1 = torch.cat([out_dec_level1, dec1_param], 1)
            out_dec_level1 = self.reduce_noise_level1(self.noise_level1(out_dec_level1))
        return self.output(self.decoder_level1(out_dec_level1)) + inp_img


# %%
net = PromptIR(decoder=True)
loss_fn = nn.L1Loss()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4, weight_decay=0.0)
before = {name: p.detach().clone() for name, p in net.named_parameters()}

# %%
for step in range(20):
    clean_patch = torch.rand(2, 3, 16, 16)
    degrad_patch = clean_patch + 0.1 * torch.randn_like(clean_patch)
    restored = net(degrad_patch)
    loss = loss_fn(restored, clean_patch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
for name, p in net.named_parameters():
    if "prompt1" in name:
        print(name, (p - before[name]).abs().max().item())
