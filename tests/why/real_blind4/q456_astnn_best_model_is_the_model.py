# https://github.com/zhangj111/astnn/issues/8
import copy
import time

import torch
import torch.nn as nn

torch.manual_seed(0)


class BatchProgramClassifier(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, label_size):
        super(BatchProgramClassifier, self).__init__()
        self.hidden_dim = hidden_dim
        self.encoder = nn.Embedding(vocab_size, embedding_dim)
        self.bigru = nn.GRU(embedding_dim, hidden_dim, bidirectional=True, batch_first=True)
        self.hidden2label = nn.Linear(hidden_dim * 2, label_size)

    def forward(self, x):
        gru_out, _ = self.bigru(self.encoder(x))
        gru_out = torch.max(gru_out, dim=1)[0]
        return self.hidden2label(gru_out)


VOCAB, LABELS, EPOCHS, BATCH_SIZE = 30, 4, 6, 8
rule = torch.randint(LABELS, (VOCAB,))


def get_data(n):
    x = torch.randint(VOCAB, (n, 6))
    return x, rule[x[:, 0]]


train_data, val_data = get_data(48), get_data(32)

# %%
model = BatchProgramClassifier(8, 8, VOCAB, LABELS)
optimizer = torch.optim.Adamax(model.parameters(), lr=0.3)
loss_function = nn.CrossEntropyLoss()
best_acc = -1.0
best_model = model
best_epoch = -1

for epoch in range(EPOCHS):
    start_time = time.time()
    total_acc, total_loss, total = 0.0, 0.0, 0.0
    for i in range(0, len(train_data[0]), BATCH_SIZE):
        train_inputs, train_labels = train_data[0][i:i + BATCH_SIZE], train_data[1][i:i + BATCH_SIZE]
        model.zero_grad()
        output = model(train_inputs)
        loss = loss_function(output, train_labels)
        loss.backward()
        optimizer.step()
        # calc training acc
        total_acc += (output.argmax(1) == train_labels).sum().item()
        total += len(train_labels)
        total_loss += loss.item() * len(train_inputs)

    # validation
    with torch.no_grad():
        val_acc = (model(val_data[0]).argmax(1) == val_data[1]).float().mean().item()
    if val_acc > best_acc:
        best_acc, best_epoch = val_acc, epoch
        best_model = model
    print('[Epoch: %3d/%3d] Training Loss: %.4f, Training Acc: %.3f, Validation Acc: %.3f' % (
        epoch + 1, EPOCHS, total_loss / total, total_acc / total, val_acc))

last_weights = [p.detach().clone() for p in model.parameters()]
model = best_model
print('best epoch', best_epoch + 1)
