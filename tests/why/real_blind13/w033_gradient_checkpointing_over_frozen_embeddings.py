# https://github.com/huggingface/transformers/issues/35826
from functools import partial
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Linear(base.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + self.scaling * self.lora_B(self.lora_A(x))


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.q_proj, self.v_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        h = self.norm(x)
        scores = self.q_proj(h) @ h.transpose(1, 2) / h.size(-1) ** 0.5
        mask = torch.triu(torch.ones(h.size(1), h.size(1), dtype=torch.bool), 1)
        return x + scores.masked_fill(mask, -1e9).softmax(-1) @ self.v_proj(h)


class CausalLM(nn.Module):
    def __init__(self, vocab=30, dim=16, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([DecoderLayer(dim) for _ in range(layers)])
        self.lm_head = nn.Linear(dim, vocab)
        self.gradient_checkpointing_func = None

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs=None):
        if gradient_checkpointing_kwargs is None:
            gradient_checkpointing_kwargs = {"use_reentrant": True}
        self.gradient_checkpointing_func = partial(checkpoint, **gradient_checkpointing_kwargs)

    def forward(self, input_ids):
        hidden = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing_func is not None:
                hidden = self.gradient_checkpointing_func(layer, hidden)
            else:
                hidden = layer(hidden)
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())


def get_peft_model(model):
    for p in model.parameters():
        p.requires_grad = False
    for layer in model.layers:
        layer.q_proj, layer.v_proj = LoraLinear(layer.q_proj), LoraLinear(layer.v_proj)
    return model


model = get_peft_model(CausalLM())
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

# %%
input_ids = torch.randint(0, 30, (4, 10))
for step in range(3):
    loss = model(input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
