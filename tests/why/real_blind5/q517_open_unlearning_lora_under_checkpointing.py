# https://github.com/locuslab/open-unlearning/issues/178
import torch
import torch.nn as nn
import torch.utils.checkpoint

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base_layer = base
        for p in self.base_layer.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.02)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base_layer(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


class DecoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = LoraLinear(nn.Linear(d, 2 * d))
        self.down = LoraLinear(nn.Linear(2 * d, d))
        for p in self.norm.parameters():
            p.requires_grad = False

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(self.norm(x))))


class CausalLM(nn.Module):
    def __init__(self, vocab=30, d=16, n=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, d)
        self.embed_tokens.weight.requires_grad = False
        self.layers = nn.ModuleList(DecoderLayer(d) for _ in range(n))
        self.lm_head = LoraLinear(nn.Linear(d, vocab, bias=False))
        self.gradient_checkpointing = False

    def gradient_checkpointing_enable(self):
        self.gradient_checkpointing = True

    def enable_input_require_grads(self):
        self.embed_tokens.register_forward_hook(lambda module, input, output: output.requires_grad_(True))

    def forward(self, input_ids):
        hidden = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                hidden = torch.utils.checkpoint.checkpoint(layer, hidden, use_reentrant=True)
            else:
                hidden = layer(hidden)
        return self.lm_head(hidden)


# %%
model = CausalLM()
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

# %%
model.train()
for step in range(3):
    input_ids = torch.randint(0, 30, (4, 9))
    logits = model(input_ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), input_ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

b_norms = {k: v.norm().item() for k, v in model.state_dict().items() if "lora_B" in k}
nonzero = sum(1 for n in b_norms.values() if n > 1e-6)
print(f"lora_B nonzero: {nonzero}/{len(b_norms)}")
