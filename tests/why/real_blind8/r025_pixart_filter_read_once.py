# https://github.com/PixArt-alpha/PixArt-alpha/pull/160
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4):
        super().__init__()
        self.base = base
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.lora_B(self.lora_A(x))


# %%
transformer = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
# freeze parameters of models to save more memory
for param in transformer.parameters():
    param.requires_grad_(False)
transformer[0] = LoraLinear(transformer[0])
transformer[2] = LoraLinear(transformer[2])
lora_layers = filter(lambda p: p.requires_grad, transformer.parameters())

optimizer = torch.optim.AdamW(
    lora_layers,
    lr=1e-3,
    betas=(0.9, 0.999),
    weight_decay=1e-2,
)
max_grad_norm = 0.01

# %%
for step in range(4):
    latents, noise = torch.randn(8, 16), torch.randn(8, 16)
    model_pred = transformer(latents + noise)
    loss = F.mse_loss(model_pred.float(), noise.float(), reduction="mean")
    loss.backward()
    params_to_clip = lora_layers
    torch.nn.utils.clip_grad_norm_(params_to_clip, max_grad_norm)
    optimizer.step()
    norm = math.sqrt(sum(float(p.grad.norm() ** 2) for p in transformer.parameters() if p.grad is not None))
    print(step, loss.item(), norm)
    optimizer.zero_grad()
