# https://github.com/sugi-chan/custom_bert_pipeline/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BertForSequenceClassification(nn.Module):
    def __init__(self, vocab=30, hidden=16, num_labels=4):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, hidden)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(hidden, num_labels)

    def forward(self, input_ids):
        pooled_output = self.embeddings(input_ids).mean(1)
        return self.classifier(self.dropout(pooled_output))


def make_batch(n=32):
    labels = torch.randint(0, 4, (n,))
    return labels[:, None] * 7 + torch.randint(0, 7, (n, 6)), labels


def train_model(model, criterion, optimizer, num_epochs=25):
    for epoch in range(num_epochs):
        model.train()
        running_loss = 0.0
        for _ in range(8):
            inputs, labels = make_batch()
            optimizer.zero_grad()
            outputs = model(inputs)
            outputs = F.softmax(outputs, dim=1)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() / 8
    return running_loss


# %%
model = BertForSequenceClassification()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
epoch_loss = train_model(model, criterion, optimizer)
print(epoch_loss)
