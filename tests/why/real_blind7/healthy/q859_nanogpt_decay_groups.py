# https://github.com/karpathy/nanoGPT/blob/master/model.py
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)


class GPT(nn.Module):
    def __init__(self, vocab_size=32, block_size=8, n_embd=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.ln, self.mlp = nn.LayerNorm(n_embd), nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long)
        x = self.wte(idx) + self.wpe(pos)
        x = x + self.mlp(self.ln(x))
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def configure_optimizers(self, weight_decay, learning_rate, betas):
        param_dict = {pn: p for pn, p in self.named_parameters() if p.requires_grad}
        decay_params = [p for n, p in param_dict.items() if p.dim() >= 2]
        nodecay_params = [p for n, p in param_dict.items() if p.dim() < 2]
        optim_groups = [{'params': decay_params, 'weight_decay': weight_decay}, {'params': nodecay_params, 'weight_decay': 0.0}]
        return torch.optim.AdamW(optim_groups, lr=learning_rate, betas=betas)


# %%
model = GPT()
optimizer = model.configure_optimizers(1e-1, 6e-4, (0.9, 0.95))
before = model.wte.weight.detach().clone()
gradient_accumulation_steps = 2

# %%
for iter_num in range(3):
    for micro_step in range(gradient_accumulation_steps):
        X = torch.randint(0, 32, (4, 8))
        Y = torch.roll(X, -1, 1)
        Y[:, -1] = -1
        logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    # flush the gradients as soon as we can, no need for this memory anymore
    if iter_num < 2:
        optimizer.zero_grad(set_to_none=True)
    print(iter_num, loss.item() * gradient_accumulation_steps)
