# https://github.com/tloen/alpaca-lora/issues/352
import torch
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, base_layer):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, 2, bias=False)
        self.lora_B = nn.Linear(2, base_layer.out_features, bias=False)

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(x))


class PeftModel(nn.Module):
    @classmethod
    def from_pretrained(cls, model, checkpoint, is_trainable=False):
        peft = cls()
        peft.q_proj = LoraLinear(model)
        for name, p in peft.named_parameters():
            p.requires_grad = 'lora_' in name and is_trainable
        peft.load_state_dict(checkpoint, strict=False)
        return peft

    def forward(self, x):
        return self.q_proj(x)

    def print_trainable_parameters(self):
        trainable = sum(p.numel() for p in self.parameters() if p.requires_grad)
        print(f"trainable params: {trainable}")
        return trainable


lora_weights = {"q_proj.lora_A.weight": torch.randn(2, 4), "q_proj.lora_B.weight": torch.randn(4, 2)}

# %%
model = nn.Linear(4, 4)
model = PeftModel.from_pretrained(model, lora_weights)

# %%
model.print_trainable_parameters()
