# https://github.com/shubhamagarwal92/mmd/issues/14
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HRED(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 12)
        self.rnn = nn.GRU(12, 16, batch_first=True)
        self.drop = nn.Dropout(0.4)
        self.out = nn.Linear(16, 20)

    def forward(self, x):
        h, _ = self.rnn(self.drop(self.emb(x)))
        return self.out(self.drop(h))


class Train:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(self, batch):
        return F.cross_entropy(self.model(batch[:, :-1]).reshape(-1, 20), batch[:, 1:].reshape(-1))

    def train(self, batches, valid_batches, validate_every=2):
        self.model.train()
        for n, batch in enumerate(batches, 1):
            self.optimizer.zero_grad()
            loss = self.loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            if n % validate_every == 0:
                self.evaluate(valid_batches)

    def evaluate(self, batches):
        self.model.eval()
        with torch.no_grad():
            print(sum(self.loss(b).item() for b in batches) / len(batches))


# %%
model = HRED()
trainer = Train(model)

# %%
data = [torch.randint(0, 20, (4, 7)) for _ in range(8)]
trainer.train(data[:6], data[6:])
