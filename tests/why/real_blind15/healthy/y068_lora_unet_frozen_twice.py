# https://github.com/SingleZombie/DiffusersExample/issues/5
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4, lora_alpha=4):
        super().__init__()
        self.base_layer = base
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.normal_(self.lora_A.weight, std=1 / r)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.scaling * self.lora_B(self.lora_A(x))


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.size(-1)), dim=-1)
        return x + self.to_out(weights @ v)


class UNet(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.conv_in, self.time = nn.Linear(2, dim), nn.Linear(1, dim)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.attn = Attention(dim)
        self.conv_out = nn.Linear(dim, 2)

    def add_adapter(self, target_modules):
        for name in target_modules:
            setattr(self.attn, name, LoraLinear(getattr(self.attn, name)))

    def forward(self, sample, timestep, encoder_hidden_states):
        h = self.conv_in(sample) + self.time(timestep.unsqueeze(1) / 20)
        h = self.mid(h).unsqueeze(1)
        return self.conv_out(self.attn(h, encoder_hidden_states).squeeze(1))


class TextEncoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embedding = nn.Embedding(4, dim)

    def forward(self, ids):
        return self.embedding(ids)


alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-3, 0.3, 20), 0)


def diffusion_loss(unet, text_encoder, x0, ids):
    noise, t = torch.randn_like(x0), torch.randint(0, 20, (len(x0),))
    a = alphas_cumprod[t].unsqueeze(1)
    pred = unet(a.sqrt() * x0 + (1 - a).sqrt() * noise, t.float(), text_encoder(ids))
    return F.mse_loss(pred, noise)


def pretraining_data(n=128):
    ids = torch.randint(0, 4, (n, 2))
    return torch.stack([ids[:, 0] % 2 * 2. - 1, ids[:, 0] // 2 * 2. - 1], 1) + 0.05 * torch.randn(n, 2), ids


def own_data(n=128):
    return torch.tensor([2.0, 0.0]) + 0.05 * torch.randn(n, 2), torch.zeros(n, 2, dtype=torch.long)


# %%
unet, text_encoder = UNet(), TextEncoder()
optimizer = torch.optim.AdamW([*unet.parameters(), *text_encoder.parameters()], lr=5e-3)
for _ in range(250):
    optimizer.zero_grad()
    diffusion_loss(unet, text_encoder, *pretraining_data()).backward()
    optimizer.step()
optimizer.zero_grad()

# %%
# freeze parameters of models to save more memory
unet.requires_grad_(False)
text_encoder.requires_grad_(False)
# freeze the unet parameters before adding adapters
for param in unet.parameters():
    param.requires_grad_(False)
base_before = {n: p.clone() for n, p in unet.named_parameters()}
unet.add_adapter(["to_q", "to_k", "to_v", "to_out"])
lora_layers = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(lora_layers, lr=5e-3)
losses, first_grads = [], None

# %%
for global_step in range(250):
    loss = diffusion_loss(unet, text_encoder, *own_data())
    loss.backward()
    if first_grads is None:
        first_grads = {n: p.grad.abs().max().item() for n, p in unet.named_parameters() if p.requires_grad}
    torch.nn.utils.clip_grad_norm_(lora_layers, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())

# %%
print(losses[0], sum(losses[-20:]) / 20)
assert len(lora_layers) == 8
assert first_grads['attn.to_v.lora_A.weight'] == 0 and first_grads['attn.to_v.lora_B.weight'] > 0
assert all(torch.equal(p, base_before[n.replace('.base_layer', '')]) for n, p in unet.named_parameters() if 'lora' not in n)
assert unet.attn.to_v.lora_A.weight.requires_grad and unet.attn.to_v.lora_B.weight.abs().max() > 0.01
assert sum(losses[-20:]) / 20 < 0.6 * losses[0]
