# https://github.com/huggingface/transformers/issues/26098
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


def from_pretrained(base_model, is_trainable=False):
    for p in base_model.parameters():
        p.requires_grad = False
    base_model.q_proj = LoraLinear(base_model.q_proj)
    for name, p in base_model.named_parameters():
        if 'lora_' in name:
            p.requires_grad = is_trainable
    return base_model


def prepare_model_for_kbit_training(model):
    for name, param in model.named_parameters():
        # freeze base model's layers
        param.requires_grad = False
    return model


# %%
base_model = nn.Module()
base_model.q_proj = nn.Linear(4, 4)
model = from_pretrained(base_model)
model = prepare_model_for_kbit_training(model)

# %%
for name, param in model.named_parameters():
    print(f"{name}: {param.requires_grad}")
