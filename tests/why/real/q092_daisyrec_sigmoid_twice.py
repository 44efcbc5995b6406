# https://github.com/yudi-mars/daisyRec/pull/15
import torch
import torch.nn as nn


class MF(nn.Module):
    def __init__(self, n=8, factors=16):
        super().__init__()
        self.embed_user = nn.Embedding(n, factors)
        self.embed_item = nn.Embedding(n, factors)

    def forward(self, user, item):
        pred = (self.embed_user(user) * self.embed_item(item)).sum(dim=-1)
        return pred.sigmoid()


model = MF()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
criterion = nn.BCEWithLogitsLoss(reduction='mean')
user, item = torch.arange(8).repeat(8), torch.arange(8).repeat_interleave(8)
label = (user % 2 == item % 2).float()

# %%
for epoch in range(150):
    model.zero_grad()
    loss = criterion(model(user, item), label)
    loss.backward()
    optimizer.step()

# %%
print(loss)
