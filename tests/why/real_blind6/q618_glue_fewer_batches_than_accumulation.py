# https://github.com/huggingface/transformers/issues/2995
from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)

args = SimpleNamespace(gradient_accumulation_steps=8, num_train_epochs=3, learning_rate=5e-3, max_grad_norm=1.0, train_batch_size=8)


class SequenceClassifier(nn.Module):
    def __init__(self, vocab=50, dim=16, num_labels=2):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.classifier = nn.Linear(dim, num_labels)

    def forward(self, input_ids, labels):
        _, pooled = self.encoder(self.embeddings(input_ids))
        logits = self.classifier(pooled[-1])
        return nn.functional.cross_entropy(logits, labels), logits


def train(args, train_dataset, model):
    train_sampler = RandomSampler(train_dataset)
    train_dataloader = DataLoader(train_dataset, sampler=train_sampler, batch_size=args.train_batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / 100))

    global_step = 0
    tr_loss = 0.0
    model.zero_grad()
    for _ in range(int(args.num_train_epochs)):
        epoch_iterator = train_dataloader
        for step, batch in enumerate(epoch_iterator):
            model.train()
            loss, _ = model(*batch)
            if args.gradient_accumulation_steps > 1:
                loss = loss / args.gradient_accumulation_steps
            loss.backward()
            tr_loss += loss.item()
            if (step + 1) % args.gradient_accumulation_steps == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                model.zero_grad()
                global_step += 1
        print('loss', tr_loss, 'global_step', global_step)
    return optimizer


# %%
model = SequenceClassifier()
before = model.classifier.weight.detach().clone()
train_dataset = TensorDataset(torch.randint(0, 50, (32, 6)), torch.randint(0, 2, (32,)))

# %%
optimizer = train(args, train_dataset, model)
