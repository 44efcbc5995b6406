# https://github.com/huggingface/transformers/issues/42489
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class LoraLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.base_layer = nn.Linear(d, d)
        self.lora_A, self.lora_B = nn.Linear(d, 2, bias=False), nn.Linear(2, d, bias=False)

    def forward(self, x):
        return torch.tanh(self.base_layer(x) + self.lora_B(self.lora_A(x)))


class CausalLM(nn.Module):
    def __init__(self, v=20, d=8):
        super().__init__()
        self.embed_tokens = nn.Embedding(v, d)
        self.layers = nn.ModuleList(LoraLayer(d) for _ in range(2))
        self.lm_head = nn.Linear(d, v)
        self.gradient_checkpointing = False

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda m, i, output: output.requires_grad_(True))

    def forward(self, input_ids, labels):
        h = self.embed_tokens(input_ids)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=True) if self.gradient_checkpointing else layer(h)
        logits = self.lm_head(h)
        return SimpleNamespace(loss=nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()))


def get_peft_model(model):
    for name, p in model.named_parameters():
        p.requires_grad = 'lora_' in name
    return model


# %%
model = get_peft_model(CausalLM())
model.gradient_checkpointing = True
data = torch.randint(0, 20, (4, 6))
out = model(data, data)

# %%
out.loss.backward()
