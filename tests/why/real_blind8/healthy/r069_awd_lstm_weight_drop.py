# https://github.com/salesforce/awd-lstm-lm/blob/master/weight_drop.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class WeightDrop(nn.Module):
    def __init__(self, module, weights, dropout=0.):
        super(WeightDrop, self).__init__()
        self.module = module
        self.weights = weights
        self.dropout = dropout
        self._setup()

    def _setup(self):
        for name_w in self.weights:
            w = getattr(self.module, name_w)
            del self.module._parameters[name_w]
            self.module.register_parameter(name_w + '_raw', nn.Parameter(w.data))

    def _setweights(self):
        for name_w in self.weights:
            raw_w = getattr(self.module, name_w + '_raw')
            w = nn.functional.dropout(raw_w, p=self.dropout, training=self.training)
            setattr(self.module, name_w, w)

    def forward(self, *args):
        self._setweights()
        return self.module.forward(*args)


# %%
embedding, lin = nn.Embedding(30, 8), nn.Linear(12, 30)
wdrnn = WeightDrop(nn.RNNCell(8, 12), ['weight_hh'], dropout=0.5)
optimizer = torch.optim.SGD([*embedding.parameters(), *wdrnn.parameters(), *lin.parameters()], lr=0.5)

# %%
h = torch.zeros(4, 12)
for batch in range(3):
    data = torch.randint(0, 30, (4, 6))
    h = h.detach()
    loss = 0
    for t in range(5):
        h = wdrnn(embedding(data[:, t]), h)
        loss = loss + nn.functional.cross_entropy(lin(h), data[:, t + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item() / 5)
