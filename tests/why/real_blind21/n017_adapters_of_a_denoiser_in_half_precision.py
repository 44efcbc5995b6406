# https://github.com/huggingface/diffusers/issues/6442
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

args = argparse.Namespace(mixed_precision='fp16', rank=4, learning_rate=1e-4, max_grad_norm=1.0,
                          max_train_steps=4, train_batch_size=2)


class LoRALinear(nn.Module):
    def __init__(self, base_layer, rank):
        super().__init__()
        weight = base_layer.weight
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, rank, bias=False).to(weight.device, weight.dtype)
        self.lora_B = nn.Linear(rank, base_layer.out_features, bias=False).to(weight.device, weight.dtype)
        nn.init.normal_(self.lora_A.weight, std=1 / rank)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        x_lora = x.to(self.lora_A.weight.dtype)
        return self.base_layer(x) + self.lora_B(self.lora_A(x_lora)).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, dim, context_dim):
        super().__init__()
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(context_dim, dim, bias=False)
        self.to_v = nn.Linear(context_dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        attn = (q @ k.transpose(1, 2) * q.size(-1) ** -0.5).softmax(-1)
        return self.to_out(attn @ v)


class UNet(nn.Module):
    def __init__(self, channels=8, context_dim=12):
        super().__init__()
        self.conv_in = nn.Linear(4, channels)
        self.time = nn.Embedding(1000, channels)
        self.attn1 = Attention(channels, channels)
        self.attn2 = Attention(channels, context_dim)
        self.conv_out = nn.Linear(channels, 4)

    def add_adapter(self, rank, target_modules):
        for attn in (self.attn1, self.attn2):
            for name in target_modules:
                setattr(attn, name, LoRALinear(getattr(attn, name), rank))

    def forward(self, sample, timesteps, encoder_hidden_states):
        x = self.conv_in(sample) + self.time(timesteps)[:, None]
        x = x + self.attn1(x, x)
        x = x + self.attn2(x, encoder_hidden_states)
        return self.conv_out(x)


# %%
unet = UNet()
unet.requires_grad_(False)
weight_dtype = torch.float32
if args.mixed_precision == 'fp16':
    weight_dtype = torch.float16
unet.to(dtype=weight_dtype)
unet.add_adapter(args.rank, target_modules=('to_k', 'to_q', 'to_v', 'to_out'))

# %%
unet_lora_parameters = list(filter(lambda p: p.requires_grad, unet.parameters()))
optimizer = torch.optim.AdamW(unet_lora_parameters, lr=args.learning_rate, weight_decay=1e-4)
scaler = torch.amp.GradScaler('cpu', init_scale=2.0 ** 8)
alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)

# %%
unet.train()
for step in range(args.max_train_steps):
    model_input = torch.randn(args.train_batch_size, 16, 4)
    prompt_embeds = torch.randn(args.train_batch_size, 5, 12)
    noise = torch.randn_like(model_input)
    timesteps = torch.randint(0, 1000, (args.train_batch_size,))
    alpha = alphas_cumprod[timesteps][:, None, None]
    noisy_model_input = alpha.sqrt() * model_input + (1 - alpha).sqrt() * noise

    with torch.autocast('cpu', dtype=weight_dtype):
        model_pred = unet(noisy_model_input.to(weight_dtype), timesteps, prompt_embeds.to(weight_dtype))
    loss = F.mse_loss(model_pred.float(), noise.float(), reduction='mean')

    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(unet_lora_parameters, args.max_grad_norm)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(step, loss.item())
