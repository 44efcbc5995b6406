# https://github.com/huggingface/peft/issues/3580
import torch
from torch import nn


class PeftModel(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A, self.lora_B = nn.ModuleDict(), nn.ModuleDict()
        self.active_adapter = None

    def load_adapter(self, adapter_name, is_trainable=False):
        self.lora_A[adapter_name] = nn.Linear(1, 1, bias=False).requires_grad_(False)
        self.lora_B[adapter_name] = nn.Linear(1, 1, bias=False).requires_grad_(False)
        self.active_adapter = self.active_adapter or adapter_name
        self.set_requires_grad(self.active_adapter, is_trainable)

    def set_requires_grad(self, name, value):
        self.lora_A[name].requires_grad_(value)
        self.lora_B[name].requires_grad_(value)

    def forward(self, x):
        return self.base(x) + sum(self.lora_B[n](self.lora_A[n](x)) for n in self.lora_A)


# %%
model = PeftModel(nn.Linear(1, 1, bias=False))
model.load_adapter("default", is_trainable=False)
model.load_adapter("other", is_trainable=True)

# %%
for name, parameter in model.named_parameters():
    if "lora_" in name:
        print(name, parameter.requires_grad)
