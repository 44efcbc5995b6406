# https://github.com/kongds/E5-V/issues/19
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

embed_tokens, layer, lora = nn.Embedding(10, 6), nn.Linear(6, 6), nn.Linear(6, 6, bias=False)
for p in [*embed_tokens.parameters(), *layer.parameters()]:
    p.requires_grad = False


def make_inputs_require_grads(module, input, output):
    output.requires_grad_(True)


grad_checkpoint = True
if grad_checkpoint:
    embed_tokens.register_forward_hook(make_inputs_require_grads)

# %%
h = embed_tokens(torch.randint(10, (2, 4)))
h = checkpoint(lambda t: torch.tanh(layer(t) + lora(t)), h, use_reentrant=True)
h.pow(2).mean().backward()

# %%
print(embed_tokens.weight.grad, lora.weight.grad is None)
