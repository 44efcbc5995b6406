# https://github.com/meta-pytorch/torchtune/issues/2332
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import AdamW

torch.manual_seed(0)

CROSS_ENTROPY_IGNORE_IDX = -100


def scale_grads(model, scaler):
    for p in model.parameters():
        if p.grad is not None:
            p.grad *= scaler


class TransformerDecoder(nn.Module):
    def __init__(self, vocab_size=16, embed_dim=32, num_heads=4):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, embed_dim)
        self.pos = nn.Embedding(32, embed_dim)
        self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.sa_norm, self.mlp_norm = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(nn.Linear(embed_dim, 64), nn.SiLU(), nn.Linear(64, embed_dim))
        self.output = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.tok_embeddings(tokens) + self.pos(torch.arange(length))
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        h = self.sa_norm(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return self.output(x + self.mlp(self.mlp_norm(x)))


class FullFinetuneRecipe:
    def __init__(self, gradient_accumulation_steps=4):
        self._model = TransformerDecoder()
        self._optimizer = AdamW(self._model.parameters(), lr=3e-3)
        self._gradient_accumulation_steps = gradient_accumulation_steps
        self._clip_grad_norm = 1.0
        self.log = []

    def _loss_step(self, batch):
        labels = batch.pop("labels")
        logits = self._model(batch["tokens"])
        labels = torch.hstack((labels[..., 1:], torch.full((len(labels), 1), CROSS_ENTROPY_IGNORE_IDX)))
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=CROSS_ENTROPY_IGNORE_IDX)

    def train(self, dataloader, epochs=1):
        self._optimizer.zero_grad()
        running_loss, num_tokens = 0, 0
        for curr_epoch in range(epochs):
            for idx, batch in enumerate(dataloader):
                batch = {"tokens": batch[0], "labels": batch[1]}
                current_num_tokens = (batch["labels"] != CROSS_ENTROPY_IGNORE_IDX).sum()
                num_tokens += current_num_tokens
                current_loss = self._loss_step(batch) * current_num_tokens
                running_loss += current_loss
                current_loss.backward()
                if (idx + 1) % self._gradient_accumulation_steps == 0:
                    scale_grads(self._model, 1 / num_tokens)
                    grad_norm = torch.nn.utils.clip_grad_norm_(
                        self._model.parameters(), max_norm=float(self._clip_grad_norm))
                    self._optimizer.step()
                    self._optimizer.zero_grad(set_to_none=True)
                    self.log.append((running_loss.item() / num_tokens.item(), grad_norm.item()))
                    running_loss, num_tokens = 0, 0


# %%
start = torch.randint(1, 16, (128, 1))
tokens = (start + torch.arange(12) * torch.randint(1, 3, (128, 1))) % 15 + 1
labels = tokens.clone()
lengths = torch.randint(6, 13, (128,))
labels[torch.arange(12) >= lengths[:, None]] = CROSS_ENTROPY_IGNORE_IDX
tokens[torch.arange(12) >= lengths[:, None]] = 0
dataloader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(tokens, labels), batch_size=4, shuffle=True)

# %%
recipe = FullFinetuneRecipe()
recipe.train(dataloader, epochs=10)
print(recipe.log[0], recipe.log[-1])
