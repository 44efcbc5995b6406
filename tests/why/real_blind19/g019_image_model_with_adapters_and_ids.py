# https://github.com/kohya-ss/sd-scripts/issues/1509
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoRAModule(nn.Module):
    def __init__(self, org_module, lora_dim=4, alpha=1.0):
        super().__init__()
        self.org_module = org_module.requires_grad_(False)
        self.lora_down = nn.Linear(org_module.in_features, lora_dim, bias=False)
        self.lora_up = nn.Linear(lora_dim, org_module.out_features, bias=False)
        nn.init.zeros_(self.lora_up.weight)
        self.scale = alpha / lora_dim

    def forward(self, x):
        return self.org_module(x) + self.lora_up(self.lora_down(x)) * self.scale


class DoubleBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = LoRAModule(nn.Linear(dim, 3 * dim))
        self.proj = LoRAModule(nn.Linear(dim, dim))

    def forward(self, img, txt, mask):
        q, k, v = self.qkv(torch.cat([txt, img], dim=1)).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2) / q.size(-1) ** 0.5).masked_fill(mask[:, None] == 0, float("-inf"))
        out = self.proj(scores.softmax(-1) @ v)
        return img + out[:, txt.size(1):], txt + out[:, :txt.size(1)]


class Flux(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        self.img_in = nn.Linear(4, dim).requires_grad_(False)
        self.vector_in = nn.Linear(8, dim).requires_grad_(False)
        self.double_blocks = nn.ModuleList([DoubleBlock(dim) for _ in range(depth)])
        self.final_layer = nn.Linear(dim, 4).requires_grad_(False)

    def forward(self, img, txt, y, txt_attention_mask):
        img = self.img_in(img) + self.vector_in(y)[:, None]
        ones = txt_attention_mask.new_ones(img.shape[:2])
        mask = torch.cat([txt_attention_mask, ones], dim=1)
        for block in self.double_blocks:
            img, txt = checkpoint(block, img, txt, mask, use_reentrant=True)
        return self.final_layer(img)


def encode_prompts(n, dim=16, length=6):
    l_pooled = torch.randn(n, 8)
    t5_out = torch.randn(n, length, dim)
    t5_attn_mask = (torch.arange(length) < torch.randint(2, length, (n, 1))).long()
    return l_pooled, t5_out, t5_attn_mask


def get_noise_pred_and_target(unet, latents, text_encoder_conds, gradient_checkpointing=True):
    noise = torch.randn_like(latents)
    sigmas = torch.rand(latents.size(0), 1, 1)
    noisy_model_input = (1 - sigmas) * latents + sigmas * noise

    # ensure the hidden state will require grad
    if gradient_checkpointing:
        noisy_model_input.requires_grad_(True)
        for t in text_encoder_conds:
            t.requires_grad_(True)

    l_pooled, t5_out, t5_attn_mask = text_encoder_conds
    model_pred = unet(img=noisy_model_input, txt=t5_out, y=l_pooled, txt_attention_mask=t5_attn_mask)
    return model_pred, noise - latents


# %%
unet = Flux()
trainable = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-3)
print("trainable", sum(p.numel() for p in trainable))

# %%
for step in range(3):
    latents, text_encoder_conds = torch.randn(2, 9, 4), encode_prompts(2)
    noise_pred, target = get_noise_pred_and_target(unet, latents, text_encoder_conds)
    loss = nn.functional.mse_loss(noise_pred, target)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
