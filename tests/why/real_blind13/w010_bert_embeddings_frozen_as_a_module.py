# https://github.com/huggingface/transformers/issues/95
import torch
import torch.nn as nn

torch.manual_seed(0)


class BertEmbeddings(nn.Module):
    def __init__(self, vocab, hidden, positions=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, hidden)
        self.position_embeddings = nn.Embedding(positions, hidden)
        self.LayerNorm = nn.LayerNorm(hidden)

    def forward(self, input_ids):
        positions = torch.arange(input_ids.size(1)).unsqueeze(0)
        return self.LayerNorm(self.word_embeddings(input_ids) + self.position_embeddings(positions))


class BertModel(nn.Module):
    def __init__(self, vocab=40, hidden=16):
        super().__init__()
        self.embeddings = BertEmbeddings(vocab, hidden)
        self.encoder = nn.TransformerEncoderLayer(hidden, 2, 32, dropout=0.0, batch_first=True)
        self.pooler = nn.Linear(hidden, hidden)

    def forward(self, input_ids):
        hidden = self.encoder(self.embeddings(input_ids))
        return torch.tanh(self.pooler(hidden[:, 0]))


class BertForSequenceClassification(nn.Module):
    def __init__(self, num_labels=2):
        super().__init__()
        self.bert = BertModel()
        self.classifier = nn.Linear(16, num_labels)

    def forward(self, input_ids, labels):
        logits = self.classifier(self.bert(input_ids))
        return nn.functional.cross_entropy(logits, labels), logits


def make_batches(n):
    batches = []
    for _ in range(n):
        ids = torch.randint(0, 40, (8, 6))
        batches.append((ids, (ids[:, 1] > 20).long()))
    return batches


# %%
model = BertForSequenceClassification()
pretrained = model.bert.embeddings.word_embeddings.weight.detach().clone()
# the embeddings stay as they were pretrained
model.bert.embeddings.requires_grad = False
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(3):
    for input_ids, labels in make_batches(10):
        loss, logits = model(input_ids, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
