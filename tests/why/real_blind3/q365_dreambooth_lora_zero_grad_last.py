# https://github.com/cloneofsimo/lora/issues/263
import itertools
from contextlib import contextmanager
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
args = SimpleNamespace(gradient_accumulation_steps=1, max_grad_norm=1.0, learning_rate=1e-2, max_train_steps=4, lora_rank=2)


class LoraInjectedLinear(nn.Module):
    def __init__(self, linear, r=4):
        super().__init__()
        self.linear = linear
        self.lora_down = nn.Linear(linear.in_features, r, bias=False)
        self.lora_up = nn.Linear(r, linear.out_features, bias=False)
        self.scale = 1.0
        nn.init.normal_(self.lora_down.weight, std=1 / r)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, input):
        return self.linear(input) + self.lora_up(self.lora_down(input)) * self.scale


class Accelerator:
    sync_gradients = True

    @contextmanager
    def accumulate(self, model):
        yield

    def backward(self, loss):
        loss.backward()

    def clip_grad_norm_(self, params, max_norm):
        return nn.utils.clip_grad_norm_(params, max_norm)


# %%
unet = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
unet.requires_grad_(False)
unet[0], unet[2] = LoraInjectedLinear(unet[0], args.lora_rank), LoraInjectedLinear(unet[2], args.lora_rank)
unet_lora_params = list(itertools.chain(*[m.lora_up.parameters() for m in (unet[0], unet[2])],
                                        *[m.lora_down.parameters() for m in (unet[0], unet[2])]))
accelerator = Accelerator()
optimizer = torch.optim.AdamW(unet_lora_params, lr=args.learning_rate)
lr_scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
train_dataloader = [torch.randn(4, 8) for _ in range(args.max_train_steps)]
up_before = unet[2].lora_up.weight.detach().clone()

# %%
global_step = 0
for step, latents in enumerate(train_dataloader):
    with accelerator.accumulate(unet):
        noise = torch.randn_like(latents)
        noisy_latents = latents + noise
        model_pred = unet(noisy_latents)
        loss = F.mse_loss(model_pred.float(), noise.float(), reduction="mean")

        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(unet_lora_params, args.max_grad_norm)
        optimizer.step()
        lr_scheduler.step()
        optimizer.zero_grad()
    global_step += 1
    print({"step": global_step, "loss": loss.detach().item(), "lr": lr_scheduler.get_last_lr()[0]})
