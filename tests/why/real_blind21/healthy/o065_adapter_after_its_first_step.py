# https://github.com/huggingface/peft/issues/793
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLayer(nn.Module):
    def __init__(self, base_layer, r=8, lora_alpha=16, lora_dropout=0.0):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)
        self.lora_dropout = nn.Dropout(lora_dropout)
        self.scaling = lora_alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


class MLP(nn.Module):
    def __init__(self, num_units_hidden=64):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(20, num_units_hidden), nn.ReLU(),
                                 nn.Linear(num_units_hidden, num_units_hidden), nn.ReLU(),
                                 nn.Linear(num_units_hidden, 2))

    def forward(self, X):
        return self.seq(X)


def get_peft_model(model, target_modules, modules_to_save, **config):
    for name, param in model.seq.named_parameters():
        param.requires_grad_(name.split('.')[0] in modules_to_save)
    for name in target_modules:
        model.seq[int(name)] = LoraLayer(model.seq[int(name)], **config)
    return model


# %%
X = torch.rand((512, 20))
y = (X.sum(1) > 10).long()
model = get_peft_model(MLP(), target_modules=["0", "2"], modules_to_save=["4"], r=8)
trainable = [(name, param) for name, param in model.named_parameters() if param.requires_grad]
print([name for name, _ in trainable])
optimizer = torch.optim.Adam([param for _, param in trainable], lr=2e-3)
start = model.seq[0].lora_A.weight.detach().clone()

# %%
loss = F.cross_entropy(model(X), y)
loss.backward()
first = {name: param.grad.abs().max().item() for name, param in trainable}
print(first)
optimizer.step()
optimizer.zero_grad()

# %%
losses = []
for epoch in range(30):
    for xb, yb in zip(X.split(64), y.split(64)):
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    losses.append(loss.item())

# %%
accuracy = (model(X).argmax(1) == y).float().mean().item()
moved = (model.seq[0].lora_A.weight - start).abs().max().item()
print(losses[0], losses[-1], accuracy, moved)
assert first['seq.0.lora_A.weight'] == 0 and first['seq.0.lora_B.weight'] > 0
assert accuracy > 0.85 and moved > 0 and model.seq[0].lora_B.weight.abs().max() > 0
