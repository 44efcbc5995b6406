# https://github.com/huggingface/peft/issues/2826
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Linear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.normal_(self.lora_B.weight, std=0.02)
        self.scaling = lora_alpha / r

    def forward(self, x, **variant_kwargs):
        alora_offsets = variant_kwargs.get("alora_offsets", None)
        result = self.base_layer(x)
        B, T = result.shape[:2]
        if alora_offsets is None:
            mask = torch.zeros((B, T), dtype=torch.bool)
        else:
            offsets = torch.tensor([o or 0 for o in alora_offsets])
            mask = torch.arange(T).unsqueeze(0) >= (T - offsets).unsqueeze(1)
        delta = self.lora_B(self.lora_A(x)) * self.scaling
        return result + delta * mask.unsqueeze(-1)


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_proj = Linear(nn.Linear(dim, dim, bias=False))
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = Linear(nn.Linear(dim, dim, bias=False))

    def forward(self, hidden_states):
        q, k, v = self.q_proj(hidden_states), self.k_proj(hidden_states), self.v_proj(hidden_states)
        return hidden_states + F.scaled_dot_product_attention(q, k, v, is_causal=True)


class CausalLM(nn.Module):
    def __init__(self, vocab_size=50, dim=16, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim) for _ in range(layers))
        self.lm_head = nn.Linear(dim, vocab_size, bias=False)
        self.gradient_checkpointing = False

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden_states = checkpoint(layer, hidden_states, use_reentrant=False)
            else:
                hidden_states = layer(hidden_states)
        return self.lm_head(hidden_states)


def _alora_offsets_pre_forward_hook(target, args, kwargs, alora_offsets):
    kwargs["alora_offsets"] = alora_offsets
    return args, kwargs


class PeftModel(nn.Module):
    def __init__(self, model, alora_invocation_tokens):
        super().__init__()
        self.base_model = model
        for n, p in model.named_parameters():
            p.requires_grad = "lora_" in n
        self.invocation = torch.tensor(alora_invocation_tokens)

    def get_alora_offsets(self, input_ids):
        offsets = []
        for row in input_ids:
            starts = [i for i in range(len(row) - len(self.invocation) + 1)
                      if torch.equal(row[i:i + len(self.invocation)], self.invocation)]
            offsets.append(len(row) - starts[-1] if starts else None)
        return offsets

    def forward(self, input_ids):
        hook = partial(_alora_offsets_pre_forward_hook, alora_offsets=self.get_alora_offsets(input_ids))
        handles = [m.register_forward_pre_hook(hook, with_kwargs=True)
                   for m in self.base_model.modules() if isinstance(m, Linear)]
        logits = self.base_model(input_ids)
        for handle in handles:
            handle.remove()
        return logits


# %%
model = PeftModel(CausalLM(), alora_invocation_tokens=[7, 8])
model.base_model.gradient_checkpointing = True
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
input_ids = torch.randint(10, 50, (4, 12))
input_ids[:, 5:7] = torch.tensor([7, 8])

# %%
losses = []
for step in range(5):
    logits = model(input_ids)
    loss = F.cross_entropy(logits[:, 7:-1].flatten(0, 1), input_ids[:, 8:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
for n, p in model.named_parameters():
    if p.requires_grad:
        print(n, p.grad.norm().item())
