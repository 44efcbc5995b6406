# https://github.com/cccntu/minLoRA/blob/main/minlora/model.py
import copy
import math
from functools import partial

import torch
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
from torch import nn

torch.manual_seed(0)


class LoRAParametrization(nn.Module):
    def __init__(self, fan_in, fan_out, fan_in_fan_out=False, rank=4, lora_dropout_p=0.0, lora_alpha=1):
        super().__init__()
        # if weight is stored as (fan_out, fan_in), the memory layout of A & B follows (W + BA)x
        # otherwise, it's x(W + AB). This allows us to tie the weights between linear layers and embeddings
        self.swap = (lambda x: (x[1], x[0])) if fan_in_fan_out else (lambda x: x)
        self.lora_A = nn.Parameter(torch.zeros(self.swap((rank, fan_in))))
        self.lora_B = nn.Parameter(torch.zeros(self.swap((fan_out, rank))))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.lora_alpha, self.rank = lora_alpha, rank
        self.scaling = lora_alpha / rank
        self.lora_dropout = nn.Dropout(p=lora_dropout_p) if lora_dropout_p > 0 else lambda x: x
        self.dropout_fn = self._dropout if lora_dropout_p > 0 else lambda x: x
        self.register_buffer("lora_dropout_mask", torch.ones(self.swap((1, fan_in)), dtype=self.lora_A.dtype))
        self.forward_fn = self.lora_forward

    def _dropout(self, A):
        # to mimic the original implementation: A @ dropout(x), we do (A * dropout(ones)) @ x
        return A * self.lora_dropout(self.lora_dropout_mask)

    def lora_forward(self, X):
        return X + torch.mm(*self.swap((self.lora_B, self.dropout_fn(self.lora_A)))).view(X.shape) * self.scaling

    def forward(self, X):
        return self.forward_fn(X)

    @classmethod
    def from_linear(cls, layer, rank=4, lora_dropout_p=0.0, lora_alpha=1):
        fan_out, fan_in = layer.weight.shape
        return cls(fan_in, fan_out, fan_in_fan_out=False, rank=rank, lora_dropout_p=lora_dropout_p, lora_alpha=lora_alpha)


default_lora_config = {  # specify which layers to add lora to, by default only add to linear layers
    nn.Linear: {
        "weight": partial(LoRAParametrization.from_linear, rank=4, lora_alpha=4),
    },
}


def apply_lora(layer, register=True, merge=False, lora_config=default_lora_config):
    """add lora parametrization to a layer, designed to be used with model.apply"""
    if register:
        if type(layer) in lora_config:
            for attr_name, parametrization in lora_config[type(layer)].items():
                parametrize.register_parametrization(layer, attr_name, parametrization(layer))
    else:  # this will remove all parametrizations, use with caution
        if hasattr(layer, "parametrizations"):
            for attr_name in list(layer.parametrizations.keys()):
                parametrize.remove_parametrizations(layer, attr_name, leave_parametrized=merge)


def name_is_lora(name):
    return (
        len(name.split(".")) >= 4
        and (name.split(".")[-4]) == "parametrizations"
        and name.split(".")[-1] in ["lora_A", "lora_B"]
    )


def get_lora_params(model):
    for n, p in model.named_parameters():
        if name_is_lora(n):
            yield p


def digits(shapes, n):
    labels = torch.randint(0, 5, (n,))
    return shapes[labels] + 0.4 * torch.randn(n, 36), labels


def fit(model, parameters, shapes, steps, lr):
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    losses = []
    for step in range(steps):
        x, y = digits(shapes, 64)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        grads.append({n: p.grad.norm().item() for n, p in model.named_parameters() if name_is_lora(n)})
        optimizer.step()
        losses.append(loss.item())
    return loss, losses


# %%
grads = []
old_shapes = torch.rand(5, 36)
new_shapes = old_shapes[[1, 2, 3, 4, 0]] + 0.2 * torch.rand(5, 36)
model = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
fit(model, model.parameters(), old_shapes, 200, 3e-3)

# %%
before = [p.detach().clone() for p in model.parameters()]
model.apply(apply_lora)
parameters = [{"params": list(get_lora_params(model))}]
grads = []
loss, losses = fit(model, parameters, new_shapes, 250, 1e-2)

# %%
base = [p for n, p in model.named_parameters() if not name_is_lora(n)]
kept = sorted(p.norm().item() for p in before) == sorted(p.norm().item() for p in base)
a_first, a_second = ([v for n, v in grads[i].items() if n.endswith("lora_A")] for i in (0, 1))
x, y = digits(new_shapes, 400)
with torch.no_grad():
    logits = model(x)
    plain = copy.deepcopy(model).apply(partial(apply_lora, register=False, merge=True))
    merged = torch.allclose(plain(x), logits, atol=1e-5) and type(plain[0]) is nn.Linear
accuracy = (logits.argmax(1) == y).float().mean().item()
print(a_first, a_second, losses[0], losses[-1], accuracy, kept, merged)
assert kept and merged and max(a_first) == 0 and min(a_second) > 0 and accuracy > 0.85
