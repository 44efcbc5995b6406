# https://github.com/microsoft/LoRA/issues/120
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoRALinear(nn.Linear):
    def __init__(self, in_features, out_features, r=4, lora_alpha=8):
        nn.Linear.__init__(self, in_features, out_features)
        self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
        self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
        self.scaling = lora_alpha / r
        self.weight.requires_grad = False
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        result = F.linear(x, self.weight, self.bias)
        return torch.relu(result + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling)


def mark_only_lora_as_trainable(model):
    for n, p in model.named_parameters():
        if 'lora_' not in n and 'classifier' not in n:
            p.requires_grad = False


class Model(nn.Module):
    def __init__(self, gradient_checkpointing=True):
        super().__init__()
        self.gradient_checkpointing = gradient_checkpointing
        self.embed = nn.Embedding(100, 32)
        self.layers = nn.ModuleList([LoRALinear(32, 32) for _ in range(3)])
        self.classifier = nn.Linear(32, 2)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)
            else:
                x = layer(x)
        return self.classifier(x.mean(1))


# %%
model = Model()
mark_only_lora_as_trainable(model)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
input_ids, labels = torch.randint(0, 100, (16, 12)), torch.randint(0, 2, (16,))

# %%
model.train()
for step in range(3):
    loss = F.cross_entropy(model(input_ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
for n, p in model.named_parameters():
    if 'lora_' in n:
        print(n, p.grad)
