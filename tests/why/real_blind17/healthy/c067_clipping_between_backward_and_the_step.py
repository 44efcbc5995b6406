# https://github.com/huggingface/accelerate/issues/267
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import AdamW
from torch.utils.data import DataLoader

torch.manual_seed(0)
PAD, VOCAB = 0, 40


class Accelerator:
    """What one process on one device needs of it."""

    def prepare(self, *things):
        return things

    def backward(self, loss):
        loss.backward()

    def clip_grad_norm_(self, parameters, max_norm):
        return nn.utils.clip_grad_norm_(parameters, max_norm)


def get_linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    def lr_lambda(current_step):
        if current_step < num_warmup_steps:
            return float(current_step) / float(max(1, num_warmup_steps))
        return max(0.0, float(num_training_steps - current_step) / float(max(1, num_training_steps - num_warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)


class BertForSequenceClassification(nn.Module):
    def __init__(self, dim=32, heads=4, labels=2):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.position = nn.Embedding(16, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.1, batch_first=True)
        self.classifier = nn.Linear(dim, labels)

    def forward(self, input_ids, attention_mask, labels=None):
        hidden = self.embeddings(input_ids) + self.position(torch.arange(input_ids.size(1)))
        hidden = self.encoder(hidden, src_key_padding_mask=attention_mask == 0)
        hidden = hidden.masked_fill(attention_mask.unsqueeze(-1) == 0, 0.0)
        pooled = hidden.sum(1) / attention_mask.sum(1, keepdim=True)
        logits = self.classifier(pooled)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def make_examples(n):
    """Whether the words below twenty are the more frequent ones."""
    examples = []
    for _ in range(n):
        words = torch.randint(1, VOCAB, (int(torch.randint(5, 14, (1,))),))
        examples.append((words, int((words < 20).sum() * 2 > len(words))))
    return examples


def collate_fn(examples):
    input_ids = nn.utils.rnn.pad_sequence([words for words, _ in examples], batch_first=True, padding_value=PAD)
    return {"input_ids": input_ids, "attention_mask": (input_ids != PAD).long(), "labels": torch.tensor([y for _, y in examples])}


# %%
accelerator = Accelerator()
gradient_accumulation_steps, num_epochs, max_grad_norm = 2, 3, 1.0
train_dataloader = DataLoader(make_examples(1280), shuffle=True, collate_fn=collate_fn, batch_size=16)
eval_dataloader = DataLoader(make_examples(320), shuffle=False, collate_fn=collate_fn, batch_size=64)
model = BertForSequenceClassification()
optimizer = AdamW(params=model.parameters(), lr=5e-3)
model, optimizer, train_dataloader, eval_dataloader = accelerator.prepare(model, optimizer, train_dataloader, eval_dataloader)
lr_scheduler = get_linear_schedule_with_warmup(
    optimizer=optimizer,
    num_warmup_steps=10,
    num_training_steps=len(train_dataloader) * num_epochs // gradient_accumulation_steps,
)
first = [p.detach().clone() for p in model.parameters()]

# %%
norms, accuracies, losses = [], [], []
for epoch in range(num_epochs):
    model.train()
    for step, batch in enumerate(train_dataloader):
        outputs = model(**batch)
        loss = outputs["loss"]
        loss = loss / gradient_accumulation_steps
        accelerator.backward(loss)
        if step % gradient_accumulation_steps == 0:
            norms.append((accelerator.clip_grad_norm_(model.parameters(), max_grad_norm).item(),
                          torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()))
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
        losses.append(loss.item() * gradient_accumulation_steps)

    model.eval()
    hits = []
    for step, batch in enumerate(eval_dataloader):
        with torch.no_grad():
            outputs = model(**batch)
        hits.append((outputs["logits"].argmax(dim=-1) == batch["labels"]).float())
    accuracies.append(torch.cat(hits).mean().item())

# %%
moved = [not torch.equal(a, b) for a, b in zip(first, model.parameters())]
longest = max(after for _, after in norms)
print(losses[0], losses[-1], accuracies, longest, max(before for before, _ in norms))
assert all(moved) and longest <= max_grad_norm + 1e-4
assert torch.equal(model.embeddings.weight[PAD], torch.zeros(32))
assert accuracies[-1] > 0.88
