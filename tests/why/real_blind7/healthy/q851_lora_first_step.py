# https://github.com/microsoft/LoRA/blob/main/loralib/layers.py
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Linear(nn.Linear):
    def __init__(self, in_features, out_features, r=4, lora_alpha=8):
        nn.Linear.__init__(self, in_features, out_features)
        self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
        self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
        self.scaling = lora_alpha / r
        # Freezing the pre-trained weight matrix
        self.weight.requires_grad = False
        self.bias.requires_grad = False
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B)

    def forward(self, x):
        result = F.linear(x, self.weight, bias=self.bias)
        return result + (x @ self.lora_A.t() @ self.lora_B.t()) * self.scaling


# %%
layer = Linear(16, 4)
optimizer = torch.optim.AdamW([p for p in layer.parameters() if p.requires_grad], lr=1e-2)

# %%
x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
loss = F.cross_entropy(layer(x), y)
optimizer.zero_grad()
loss.backward()
print(layer.lora_A.grad.abs().sum(), layer.lora_B.grad.abs().sum())
optimizer.step()
