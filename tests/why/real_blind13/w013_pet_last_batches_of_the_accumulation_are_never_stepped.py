# https://github.com/timoschick/pet/issues/36
import torch
import torch.nn as nn

torch.manual_seed(0)


class SequenceClassifier(nn.Module):
    def __init__(self, vocab=60, dim=16, labels=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(dim, labels)

    def forward(self, input_ids):
        return self.classifier(self.dropout(self.embeddings(input_ids).mean(dim=1)))


class TransformerModelWrapper:
    """A wrapper around a language model and its training."""

    def __init__(self):
        self.model = SequenceClassifier()

    def train_step(self, batch):
        input_ids, labels = batch
        return nn.functional.cross_entropy(self.model(input_ids), labels)

    def train(self, train_dataloader, num_train_epochs=3, gradient_accumulation_steps=1,
              learning_rate=1e-3, max_grad_norm=1.0):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate, eps=1e-8)
        global_step, tr_loss = 0, 0.0
        self.model.zero_grad()
        for epoch in range(num_train_epochs):
            for step, batch in enumerate(train_dataloader):
                self.model.train()
                loss = self.train_step(batch)
                if gradient_accumulation_steps > 1:
                    loss = loss / gradient_accumulation_steps
                loss.backward()
                tr_loss += loss.item()
                if (step + 1) % gradient_accumulation_steps == 0:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_grad_norm)
                    optimizer.step()
                    self.model.zero_grad()
                    global_step += 1
            print(epoch, global_step, tr_loss / max(1, global_step))
        return global_step, tr_loss / max(1, global_step)


def make_batches(n, batch_size=8):
    batches = []
    for _ in range(n):
        input_ids = torch.randint(0, 60, (batch_size, 7))
        batches.append((input_ids, input_ids[:, 0] % 3))
    return batches


# %%
wrapper = TransformerModelWrapper()
wrapper.train(make_batches(10), num_train_epochs=3, gradient_accumulation_steps=4)
