# https://github.com/huggingface/transformers/issues/11903
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GPT2Model(nn.Module):
    def __init__(self, vocab_size=40, n_embd=16, n_positions=12):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(n_positions, n_embd)
        self.h = nn.ModuleList([nn.TransformerEncoderLayer(n_embd, 2, 32, dropout=0.0, batch_first=True)])
        self.ln_f = nn.LayerNorm(n_embd)

    def forward(self, input_ids):
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.size(1))
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.size(1)))
        for block in self.h:
            x = block(x, src_mask=mask, is_causal=True)
        return self.ln_f(x)


class GPT2LMHeadModel(nn.Module):
    def __init__(self, tie_word_embeddings=True):
        super().__init__()
        self.transformer = GPT2Model()
        self.lm_head = nn.Linear(16, 40, bias=False)
        if tie_word_embeddings:
            self.lm_head.weight = self.transformer.wte.weight

    def forward(self, input_ids, labels):
        lm_logits = self.lm_head(self.transformer(input_ids))
        return F.cross_entropy(lm_logits[:, :-1].reshape(-1, 40), labels[:, 1:].reshape(-1))


# %%
gpt2 = GPT2LMHeadModel()
# freeze the transformer part
for p in gpt2.transformer.parameters():
    p.requires_grad = False
for p in gpt2.lm_head.parameters():
    print(p.requires_grad)
optimizer = torch.optim.AdamW(gpt2.lm_head.parameters(), lr=1e-3)

# %%
for step in range(3):
    input_ids = torch.randint(0, 40, (4, 10))
    loss = gpt2(input_ids, labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
