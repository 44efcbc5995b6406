# LoRA on a frozen base with checkpointed blocks, written out as peft builds it
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, alpha=8):
        super().__init__()
        self.base_layer = base_layer
        i, o = base_layer.in_features, base_layer.out_features
        self.lora_dropout = nn.ModuleDict({"default": nn.Identity()})
        self.lora_A = nn.ModuleDict({"default": nn.Linear(i, r, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(r, o, bias=False)})
        self.scaling = {"default": alpha / r}
        # peft starts B at zero, so that A gets zeros in the first step; this is a later one
        nn.init.normal_(self.lora_B["default"].weight, std=0.02)

    def forward(self, x):
        result = self.base_layer(x)
        down = self.lora_A["default"](self.lora_dropout["default"](x))
        return result + self.lora_B["default"](down) * self.scaling["default"]


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.q_proj = nn.Linear(d, d)
        self.k_proj = nn.Linear(d, d)
        self.v_proj = nn.Linear(d, d)
        self.o_proj = nn.Linear(d, d)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = self.q_proj(h), self.k_proj(h), self.v_proj(h)
        return x + self.o_proj(F.scaled_dot_product_attention(q, k, v))


class Base(nn.Module):
    def __init__(self, d=32, layers=6):
        super().__init__()
        self.embed = nn.Embedding(50, d)
        self.layers = nn.ModuleList(Layer(d) for _ in range(layers))
        self.score = nn.Linear(d, 4)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.score(x.mean(1))


class PeftModel(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.base_model = model
        model.requires_grad_(False)
        for layer in model.layers:
            layer.q_proj = LoraLinear(layer.q_proj)
            layer.v_proj = LoraLinear(layer.v_proj)

    def forward(self, ids):
        return self.base_model(ids)


def make_inputs_require_grad(module, args, output):
    output.requires_grad_(True)


model = PeftModel(Base())
model.base_model.embed.register_forward_hook(make_inputs_require_grad)
opt = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
ids, y = torch.randint(50, (2, 9)), torch.randint(4, (2,))
# %% the recorded cell
opt.zero_grad()
loss = F.cross_entropy(model(ids), y)
loss.backward()
opt.step()
