# https://stackoverflow.com/questions/63924567
import torch
import torch.nn as nn

torch.manual_seed(0)


class Config:
    vocab_size, n_positions, n_embd, n_head, n_layer = 40, 16, 16, 2, 2


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = nn.MultiheadAttention(config.n_embd, config.n_head, batch_first=True)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 32), nn.GELU(), nn.Linear(32, config.n_embd))

    def forward(self, x):
        mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), diagonal=1)
        a = self.ln_1(x)
        x = x + self.attn(a, a, a, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class GPT2LMHeadModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids, labels=None):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.size(1)))
        for block in self.h:
            x = block(x)
        return self.lm_head(x)


# %%
model = GPT2LMHeadModel(Config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
loss_fct = nn.CrossEntropyLoss(reduction='none')
train_dataloader = [torch.randint(0, 40, (4, 12)) for _ in range(3)]

# %%
model.train()
for epoch in range(2):
    for step, inputs in enumerate(train_dataloader):
        lm_logits = model(inputs)
        shift_logits = lm_logits[..., :-1, :].contiguous()
        shift_labels = inputs[..., 1:].contiguous()
        loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.zero_grad()
