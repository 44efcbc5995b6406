# https://github.com/microsoft/LoRA/issues/59
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Linear(nn.Linear):
    # LoRA implemented in a dense layer
    def __init__(self, in_features, out_features, r=4, lora_alpha=8):
        super().__init__(in_features, out_features)
        self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
        self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
        self.scaling = lora_alpha / r
        # Freezing the pre-trained weight matrix
        self.weight.requires_grad = False
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B)

    def forward(self, x):
        result = F.linear(x, self.weight, bias=self.bias)
        return result + (x @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1)) * self.scaling


# %%
layer = Linear(12, 6)
layer.bias.requires_grad = False
optimizer = torch.optim.Adam([p for p in layer.parameters() if p.requires_grad], lr=1e-3)
x, y = torch.randn(20, 12), torch.randint(0, 6, (20,))

# %%
loss = F.cross_entropy(layer(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(layer.lora_A.grad.abs().sum(), layer.lora_B.grad.abs().sum())
