# https://github.com/asyml/texar-pytorch/issues/310
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class BERTClassifier(nn.Module):
    def __init__(self, vocab=30, dim=16, classes=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.3, batch_first=True)
        self.drop = nn.Dropout(0.5)
        self.logits = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.encoder(self.embed(ids))
        return self.logits(self.drop(x[:, 0]))


train_ids = torch.randint(0, 30, (64, 8))
train_labels = (train_ids[:, 0] > 14).long()
eval_ids = torch.randint(0, 30, (16, 8))
eval_labels = (eval_ids[:, 0] > 14).long()
display_steps, eval_steps = 2, 4

# %%
model = BERTClassifier()
optim = torch.optim.Adam(model.parameters(), lr=2e-3)
modes = []


def _compute_loss(logits, labels):
    return F.cross_entropy(logits, labels)


@torch.no_grad()
def _eval_epoch():
    """Evaluates on the dev set.
    """
    model.eval()
    logits = model(eval_ids)
    accu = (logits.argmax(1) == eval_labels).float().mean()
    print("eval accu: {:.4f}; loss: {:.4f}".format(accu, _compute_loss(logits, eval_labels)))


def _train_epoch(epoch):
    """Trains on the training set, and evaluates on the dev set
    periodically.
    """
    model.train()
    step = 0
    for start in range(0, 64, 4):
        optim.zero_grad()
        logits = model(train_ids[start:start + 4])
        loss = _compute_loss(logits, train_labels[start:start + 4])
        loss.backward()
        optim.step()
        step += 1
        modes.append(model.training)

        if step % display_steps == 0:
            print("step: {}; loss: {:.4f}".format(step, loss))
        if step % eval_steps == 0:
            _eval_epoch()


for i in range(2):
    _train_epoch(i)
