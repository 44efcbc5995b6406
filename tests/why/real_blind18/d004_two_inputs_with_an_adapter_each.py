# https://github.com/huggingface/peft/issues/2832
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint as cp

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, adapter_names, r=4):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.ModuleDict({n: nn.Linear(base_layer.in_features, r, bias=False) for n in adapter_names})
        self.lora_B = nn.ModuleDict({n: nn.Linear(r, base_layer.out_features, bias=False) for n in adapter_names})
        self.active_adapters = []

    def set_adapter(self, names):
        self.active_adapters = list(names)
        for n in self.lora_A:
            self.lora_A[n].requires_grad_(n in names)
            self.lora_B[n].requires_grad_(n in names)

    def forward(self, x):
        result = self.base_layer(x)
        for n in self.active_adapters:
            result = result + self.lora_B[n](self.lora_A[n](x))
        return result


class Block(nn.Module):
    def __init__(self, dim, adapter_names):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = LoraLinear(nn.Linear(dim, 3 * dim), adapter_names)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        x = x + F.scaled_dot_product_attention(q, k, v)
        return x + self.mlp(self.norm2(x))


class PeftBackbone(nn.Module):
    def __init__(self, adapter_names, dim=16, depth=4):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, stride=4)
        self.stem = Block(dim, adapter_names)
        self.blocks = nn.ModuleList([Block(dim, adapter_names) for _ in range(depth)])
        for name, param in self.named_parameters():
            param.requires_grad = 'lora_' in name

    def set_adapter(self, names):
        for module in self.modules():
            if isinstance(module, LoraLinear):
                module.set_adapter(names)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = self.stem(x)
        for blk in self.blocks:
            x = cp.checkpoint(blk, x, use_reentrant=True)
        return x.mean(dim=1)


def custom_set_pretrain_grad_false_ft_true(model):
    for name, param in model.named_parameters():
        if 'lora_' in name:
            param.requires_grad = 'pretrain' not in name


class TwoBranches(nn.Module):
    def __init__(self, names=('optical', 'radar')):
        super().__init__()
        self.names = names
        self.mypeft_model = PeftBackbone([n + kind for n in names for kind in ('pretrain', 'ft')])
        self.head = nn.Linear(16 * len(names), 5)

    def forward(self, inputs):
        features = []
        for name, x in zip(self.names, inputs):
            self.mypeft_model.set_adapter([name + 'pretrain', name + 'ft'])
            custom_set_pretrain_grad_false_ft_true(self.mypeft_model)
            features.append(self.mypeft_model(x))
        return self.head(torch.cat(features, dim=-1))


# %%
model = TwoBranches()
ft = {n: p for n, p in model.named_parameters() if 'ft.' in n or n.startswith('head')}
before = {n: p.detach().clone() for n, p in ft.items()}
optimizer = torch.optim.AdamW(ft.values(), lr=1e-3, weight_decay=0.0)

# %%
for step in range(5):
    target = torch.randint(0, 5, (6,))
    inputs = [torch.randn(6, 3, 16, 16) + target.view(-1, 1, 1, 1) for _ in model.names]
    loss = F.cross_entropy(model(inputs), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
unchanged = [n for n, p in ft.items() if torch.equal(p, before[n])]
print(len(unchanged), 'of', len(ft))
