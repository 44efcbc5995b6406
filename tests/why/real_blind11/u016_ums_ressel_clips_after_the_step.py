# https://github.com/taesunwhang/UMS-ResSel/issues/3
import torch
import torch.nn as nn

torch.manual_seed(0)
vocab, lr, max_gradient_norm, virtual_batch_size = 60, 0.5, 0.05, 16


class PostTraining(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.mlm_head = nn.Linear(dim, vocab)
        self.nsp_head = nn.Linear(dim, 2)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, batch):
        h, _ = self.encoder(self.embeddings(batch["input_ids"]))
        mlm_loss = self.criterion(self.mlm_head(h).flatten(0, 1), batch["masked_lm_labels"].flatten())
        nsp_loss = self.criterion(self.nsp_head(h[:, -1]), batch["next_sentence_labels"])
        return mlm_loss, nsp_loss


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


# %%
model = PostTraining()
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
batches = [{
    "input_ids": torch.randint(0, vocab, (8, 10)),
    "masked_lm_labels": torch.randint(0, vocab, (8, 10)),
    "next_sentence_labels": torch.randint(0, 2, (8,)),
} for _ in range(6)]

# %%
accumulate_batch, accu_count, moved = 0, 0, []
for epoch in range(2):
    for batch_idx, batch in enumerate(batches):
        mlm_loss, nsp_loss = model(batch)
        loss = mlm_loss + nsp_loss
        loss.backward()
        accumulate_batch += batch["next_sentence_labels"].shape[0]
        accu_count += 1
        if accumulate_batch == virtual_batch_size:
            before = flat(model)
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), max_gradient_norm)
            moved.append((flat(model) - before).norm().item())
            optimizer.zero_grad()
            accumulate_batch, accu_count = 0, 0
            print(epoch, batch_idx, loss.item(), moved[-1])
