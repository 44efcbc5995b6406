# https://github.com/z814081807/DeepNER/issues/19
import torch
import torch.nn as nn

torch.manual_seed(0)


class SpanModel(nn.Module):
    def __init__(self, hidden=16, num_tags=3, loss_type='ce'):
        super().__init__()
        self.bert_module = nn.Sequential(nn.Embedding(50, hidden), nn.Linear(hidden, hidden), nn.ReLU())
        self.num_tags = num_tags
        self.mid_linear = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Dropout(0.1))
        self.start_fc = nn.Linear(32, num_tags)
        self.end_fc = nn.Linear(32, num_tags)
        reduction = 'none'
        if loss_type == 'ce':
            self.criterion = nn.CrossEntropyLoss(reduction=reduction)

    def forward(self, token_ids, attention_masks, start_ids=None, end_ids=None):
        seq_out = self.bert_module(token_ids)
        seq_out = self.mid_linear(seq_out)
        start_logits = self.start_fc(seq_out).view(-1, self.num_tags)
        end_logits = self.end_fc(seq_out).view(-1, self.num_tags)
        active_loss = attention_masks.view(-1) == 1
        active_start_logits = start_logits[active_loss]
        active_end_logits = end_logits[active_loss]
        active_start_labels = start_ids.view(-1)[active_loss]
        active_end_labels = end_ids.view(-1)[active_loss]
        start_loss = self.criterion(active_start_logits, active_start_labels)
        end_loss = self.criterion(active_end_logits, active_end_labels)
        return start_loss + end_loss, start_logits, end_logits


# %%
model = SpanModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
batch = dict(token_ids=torch.randint(0, 50, (4, 10)), attention_masks=torch.ones(4, 10), start_ids=torch.randint(0, 3, (4, 10)), end_ids=torch.randint(0, 3, (4, 10)))

# %%
for step in range(3):
    model.zero_grad()
    loss = model(**batch)[0]
    loss.backward()
    optimizer.step()
