# https://github.com/kandorm/CLINE/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LecbertForPreTraining(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, 0.1, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)
        self.tec_head = nn.Linear(dim, 3)
        self.sec_head = nn.Linear(dim, dim)
        self.log_vars = nn.Parameter(torch.zeros(3))

    def forward(self, input_ids, labels, replace_label, repl_ids):
        ori = self.encoder(self.embed(input_ids))
        repl = self.encoder(self.embed(repl_ids))
        mlm_loss = F.cross_entropy(self.lm_head(ori).flatten(0, 1), labels.flatten(), ignore_index=-100)
        tec_loss = F.cross_entropy(self.tec_head(repl).flatten(0, 1), replace_label.flatten())
        a, b = self.sec_head(ori[:, 0]), self.sec_head(repl[:, 0])
        sec_loss = F.cross_entropy(F.normalize(a, dim=1) @ F.normalize(b, dim=1).t(), torch.arange(len(a)))
        total_loss = torch.exp(-self.log_vars[0]) * mlm_loss + torch.clamp(self.log_vars[0], min=0) + \
                     torch.exp(-self.log_vars[1]) * tec_loss + torch.clamp(self.log_vars[1], min=0) + \
                     torch.exp(-self.log_vars[2]) * sec_loss + torch.clamp(self.log_vars[2], min=0)
        return total_loss, mlm_loss, tec_loss, sec_loss


# %%
model = LecbertForPreTraining()
no_decay = ["bias", "log_vars"]
optimizer = torch.optim.AdamW([
    {"params": [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], "weight_decay": 0.01},
    {"params": [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
], lr=1e-3)
tokens = torch.randint(0, 39, (8, 10))

for step in range(6):
    mask = torch.rand(8, 10) < 0.2
    mask[:, 1] = True
    labels = tokens.masked_fill(~mask, -100)
    replaced = torch.rand(8, 10) < 0.3
    repl_ids = torch.where(replaced, torch.randint(0, 39, (8, 10)), tokens)
    loss, *parts = model(tokens.masked_fill(mask, 39), labels, replaced.long(), repl_ids)
    model.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, loss.item(), model.log_vars.tolist())
