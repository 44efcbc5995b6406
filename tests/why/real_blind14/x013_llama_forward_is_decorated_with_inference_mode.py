# https://github.com/meta-llama/llama/issues/122
import torch
import torch.nn as nn

torch.manual_seed(0)


class Transformer(nn.Module):
    def __init__(self, vocab_size=32, dim=16):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    @torch.inference_mode()
    def forward(self, tokens):
        seqlen = tokens.shape[1]
        mask = torch.full((seqlen, seqlen), float("-inf")).triu(1)
        h = self.layer(self.tok_embeddings(tokens), src_mask=mask)
        return self.output(h).float()


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = Transformer()

    def forward(self, input_ids):
        return self.transformer(input_ids[:, :-1])


dataloader = [torch.randint(0, 32, (4, 12)) for _ in range(4)]
model = GPT()
model.train()
for p in model.parameters():
    p.requires_grad = True
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

# %%
losses = []
for epoch in range(2):
    epoch_loss = 0
    for batch in dataloader:
        optimizer.zero_grad()
        input_ids = batch
        logits = model(input_ids)
        targets = input_ids[:, 1:].long()
        loss = loss_fn(logits.reshape(-1, 32), targets.reshape(-1))
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    losses.append(epoch_loss / len(dataloader))
