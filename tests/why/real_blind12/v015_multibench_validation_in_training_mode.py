# https://github.com/pliang279/MultiBench/issues/26
import torch
import torch.nn as nn

torch.manual_seed(0)


class MMDL(nn.Module):
    """Implements MMDL classifier."""

    def __init__(self, encoders, fusion, head):
        super(MMDL, self).__init__()
        self.encoders = nn.ModuleList(encoders)
        self.fuse = fusion
        self.head = head

    def forward(self, inputs):
        outs = [encoder(x) for encoder, x in zip(self.encoders, inputs)]
        return self.head(self.fuse(outs))


class Concat(nn.Module):
    def forward(self, modalities):
        return torch.cat(modalities, dim=1)


def train(encoders, fusion, head, train_dataloader, valid_dataloader, total_epochs, lr=0.01):
    model = MMDL(encoders, fusion, head)
    op = torch.optim.AdamW(model.parameters(), lr=lr)
    objective = nn.CrossEntropyLoss()
    bestacc, bestvalloss = 0, 10000
    for epoch in range(total_epochs):
        totalloss = 0.0
        model.train()
        for *inputs, label in train_dataloader:
            op.zero_grad()
            loss = objective(model(inputs), label)
            totalloss += loss.item() / len(train_dataloader)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 8)
            op.step()
        print("Epoch " + str(epoch) + " train loss: " + str(totalloss))

        model.eval()
        with torch.no_grad():
            totalloss, correct, total = 0.0, 0, 0
            for *inputs, label in valid_dataloader:
                model.train()
                out = model(inputs)
                totalloss += objective(out, label).item() * len(label)
                correct += (out.argmax(1) == label).sum().item()
                total += len(label)
        valloss, acc = totalloss / total, correct / total
        print("Epoch " + str(epoch) + " valid loss: " + str(valloss) + " acc: " + str(acc))
        bestacc = max(bestacc, acc)
        bestvalloss = min(bestvalloss, valloss)
    return model


# %%
def make_loader(batches):
    labels = [torch.randint(0, 3, (16,)) for _ in range(batches)]
    return [(torch.randn(16, 5) + y[:, None], torch.randn(16, 8) - y[:, None], y) for y in labels]


train_dataloader, valid_dataloader = make_loader(6), make_loader(4)
encoders = [nn.Linear(5, 12), nn.Linear(8, 12)]
head = nn.Sequential(nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.5), nn.Linear(24, 3))
model = train(encoders, Concat(), head, train_dataloader, valid_dataloader, total_epochs=3)
print(head[0].num_batches_tracked)
