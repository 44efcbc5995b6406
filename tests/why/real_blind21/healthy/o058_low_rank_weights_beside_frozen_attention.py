# https://github.com/cloneofsimo/lora/blob/master/lora_diffusion/lora.py
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraInjectedLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=False, r=4, dropout_p=0.1, scale=1.0):
        super().__init__()
        if r > min(in_features, out_features):
            raise ValueError(f"LoRA rank {r} must be less or equal than {min(in_features, out_features)}")
        self.r = r
        self.linear = nn.Linear(in_features, out_features, bias)
        self.lora_down = nn.Linear(in_features, r, bias=False)
        self.dropout = nn.Dropout(dropout_p)
        self.lora_up = nn.Linear(r, out_features, bias=False)
        self.scale = scale
        self.selector = nn.Identity()

        nn.init.normal_(self.lora_down.weight, std=1 / r)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, input):
        return self.linear(input) + self.dropout(self.lora_up(self.selector(self.lora_down(input)))) * self.scale


class CrossAttention(nn.Module):
    def __init__(self, dim, context_dim):
        super().__init__()
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(context_dim, dim, bias=False)
        self.to_v = nn.Linear(context_dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        return self.to_out(F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0])


class UNet(nn.Module):
    def __init__(self, dim=32, context_dim=16):
        super().__init__()
        self.conv_in = nn.Linear(8, dim)
        self.blocks = nn.ModuleList(CrossAttention(dim, context_dim) for _ in range(2))
        self.conv_out = nn.Linear(dim, 8)

    def forward(self, x, context):
        x = self.conv_in(x)
        for block in self.blocks:
            x = x + block(x, context)
        return self.conv_out(x)


def inject_trainable_lora(model, target_replace_module=("CrossAttention",), r=4):
    require_grad_params, names = [], []
    for _module in [m for m in model.modules() if m.__class__.__name__ in target_replace_module]:
        for name, _child_module in list(_module.named_modules()):
            if _child_module.__class__ is not nn.Linear:
                continue
            weight, bias = _child_module.weight, _child_module.bias
            _tmp = LoraInjectedLinear(_child_module.in_features, _child_module.out_features, bias is not None, r)
            _tmp.linear.weight = weight
            if bias is not None:
                _tmp.linear.bias = bias
            _module._modules[name] = _tmp
            require_grad_params.append(_tmp.lora_up.parameters())
            require_grad_params.append(_tmp.lora_down.parameters())
            _tmp.lora_up.weight.requires_grad = True
            _tmp.lora_down.weight.requires_grad = True
            names.append(name)
    return require_grad_params, names


# %%
unet = UNet()
unet.requires_grad_(False)
unet_lora_params, names = inject_trainable_lora(unet)
optimizer = torch.optim.AdamW(itertools.chain(*unet_lora_params), lr=5e-3)
frozen = unet.blocks[0].to_q.linear.weight.clone()
latents, context = torch.randn(32, 6, 8), torch.randn(32, 5, 16)
target = latents.roll(1, dims=1)

# %%
noise_pred = unet(latents, context)
loss = F.mse_loss(noise_pred, target)
loss.backward()
down, up = unet.blocks[1].to_v.lora_down.weight.grad.clone(), unet.blocks[1].to_v.lora_up.weight.grad.clone()
optimizer.step()
optimizer.zero_grad()
first = loss.item()

# %%
for step in range(150):
    loss = F.mse_loss(unet(latents, context), target)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(names, first, loss.item(), down.abs().max().item(), up.abs().max().item())
assert down.abs().max() == 0 and up.abs().max() > 0 and torch.equal(frozen, unet.blocks[0].to_q.linear.weight)
assert loss.item() < 0.95 * first
