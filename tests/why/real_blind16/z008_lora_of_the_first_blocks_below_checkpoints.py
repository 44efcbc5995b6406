# https://github.com/cloneofsimo/lora/issues/26
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint

torch.manual_seed(0)


class LoraInjectedLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=False, r=4):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias)
        self.lora_down = nn.Linear(in_features, r, bias=False)
        self.lora_up = nn.Linear(r, out_features, bias=False)
        self.scale = 1.0
        nn.init.normal_(self.lora_down.weight, std=1 / r**2)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, input):
        return self.linear(input) + self.lora_up(self.lora_down(input)) * self.scale


def inject_trainable_lora(model, target_replace_module=["CrossAttention"], r=4):
    require_grad_params = []
    for _module in list(model.modules()):
        if _module.__class__.__name__ in target_replace_module:
            for name, _child_module in list(_module.named_modules()):
                if _child_module.__class__.__name__ == "Linear":
                    _tmp = LoraInjectedLinear(_child_module.in_features, _child_module.out_features, False, r)
                    _tmp.linear.weight = _child_module.weight
                    _module._modules[name] = _tmp
                    require_grad_params.append(_tmp.lora_up.parameters())
                    require_grad_params.append(_tmp.lora_down.parameters())
    return require_grad_params


class CrossAttention(nn.Module):
    def __init__(self, dim, context_dim):
        super().__init__()
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(context_dim, dim, bias=False)
        self.to_v = nn.Linear(context_dim, dim, bias=False)

    def forward(self, x, context):
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        return x + torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1) @ v


class UNet2DConditionModel(nn.Module):
    def __init__(self, dim=16, context_dim=12):
        super().__init__()
        self.conv_in = nn.Linear(4, dim)
        self.down_blocks = nn.ModuleList([CrossAttention(dim, context_dim) for _ in range(2)])
        self.mid_block = CrossAttention(dim, context_dim)
        self.up_blocks = nn.ModuleList([CrossAttention(dim, context_dim) for _ in range(2)])
        self.conv_out = nn.Linear(dim, 4)
        self.gradient_checkpointing = False

    def run(self, block, sample, context):
        if self.training and self.gradient_checkpointing:
            return torch.utils.checkpoint.checkpoint(block, sample, context, use_reentrant=True)
        return block(sample, context)

    def forward(self, sample, encoder_hidden_states):
        sample = self.conv_in(sample)
        for block in self.down_blocks:
            sample = self.run(block, sample, encoder_hidden_states)
        sample = self.mid_block(sample, encoder_hidden_states)
        for block in self.up_blocks:
            sample = self.run(block, sample, encoder_hidden_states)
        return self.conv_out(sample)


# %%
unet = UNet2DConditionModel()
unet.requires_grad_(False)
unet_lora_params = inject_trainable_lora(unet)
unet.gradient_checkpointing = True
optimizer = torch.optim.AdamW(itertools.chain(*unet_lora_params), lr=1e-3)
print("Before training: Unet First Layer lora up", unet.down_blocks[0].to_q.lora_up.weight)

unet.train()
for step in range(10):
    latents = torch.randn(2, 64, 4)
    noise = torch.randn_like(latents)
    noisy_latents = 0.7 * latents + 0.7 * noise
    encoder_hidden_states = torch.randn(2, 7, 12)
    noise_pred = unet(noisy_latents, encoder_hidden_states)
    loss = F.mse_loss(noise_pred, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("After training: Unet First Layer lora up", unet.down_blocks[0].to_q.lora_up.weight)
