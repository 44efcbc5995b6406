# https://github.com/zjysteven/lmms-finetune/issues/71
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
VOCAB, T = 12, 10


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Parameter(torch.empty(r, base_layer.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base_layer.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return self.base_layer(x) + 2 * (x @ self.lora_A.t() @ self.lora_B.t())


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv_proj, self.o_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up_proj, self.down_proj = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, hidden_states):
        q, k, v = self.qkv_proj(self.input_layernorm(hidden_states)).chunk(3, -1)
        hidden_states = hidden_states + self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return hidden_states + self.down_proj(F.gelu(self.up_proj(self.post_attention_layernorm(hidden_states))))


class LanguageModel(nn.Module):
    def __init__(self, dim=32, n_layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, dim)
        self.embed_positions = nn.Parameter(0.3 * torch.randn(T, dim))
        self.layers = nn.ModuleList(DecoderLayer(dim) for _ in range(n_layers))
        self.norm, self.lm_head = nn.LayerNorm(dim), nn.Linear(dim, VOCAB)
        self.gradient_checkpointing = False

    def enable_input_require_grads(self):
        def make_inputs_require_grads(module, input, output):
            output.requires_grad_(True)

        self._require_grads_hook = self.embed_tokens.register_forward_hook(make_inputs_require_grads)

    def forward(self, input_ids, labels=None):
        hidden_states = self.embed_tokens(input_ids) + self.embed_positions[: input_ids.shape[1]]
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden_states = checkpoint(layer, hidden_states, use_reentrant=True)
            else:
                hidden_states = layer(hidden_states)
        logits = self.lm_head(self.norm(hidden_states))
        if labels is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def sequences(n, step):
    seq = (torch.randint(0, VOCAB, (n, 1)) + step * torch.arange(T + 1)) % VOCAB
    return seq[:, :-1], seq[:, 1:]


# %%
model = LanguageModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for _ in range(80):
    optimizer.zero_grad()
    model(*sequences(32, 1)).backward()
    optimizer.step()
optimizer.zero_grad()
model.requires_grad_(False)
for layer in model.layers:
    for name in ('qkv_proj', 'o_proj', 'up_proj', 'down_proj'):
        setattr(layer, name, LoraLinear(getattr(layer, name)))

# %%
model.gradient_checkpointing = True
model.enable_input_require_grads()
model.train()
trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
optimizer = torch.optim.AdamW(trainable.values(), lr=1e-2)
losses = []
for _ in range(80):
    loss = model(*sequences(32, 5))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
batch = sequences(32, 5)
optimizer.zero_grad()
model(*batch).backward()
with_checkpoints = [p.grad.clone() for p in trainable.values()]
model.gradient_checkpointing = False
without = torch.autograd.grad(model(*batch), list(trainable.values()))
same = all(torch.allclose(a, b, atol=1e-5) for a, b in zip(with_checkpoints, without))
print(losses[0], losses[-1], same, model.embed_tokens.weight.grad)
assert same and model.embed_tokens.weight.grad is None and all('lora' in n for n in trainable)
assert losses[-1] < 0.4 * losses[0]
