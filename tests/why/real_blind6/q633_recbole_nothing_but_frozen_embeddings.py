# https://github.com/RUCAIBox/RecBole/issues/2027
import torch
import torch.nn as nn

torch.manual_seed(0)


class BPRLoss(nn.Module):
    def __init__(self, gamma=1e-10):
        super().__init__()
        self.gamma = gamma

    def forward(self, pos_score, neg_score):
        return -torch.log(self.gamma + torch.sigmoid(pos_score - neg_score)).mean()


class DummyModel(nn.Module):
    def __init__(self, user_weight, item_weight):
        super().__init__()
        self.user_embedding = nn.Embedding.from_pretrained(user_weight)
        self.item_embedding = nn.Embedding.from_pretrained(item_weight)
        self.loss = BPRLoss()

    def calculate_loss(self, interaction):
        user_e = self.user_embedding(interaction['user_id'])
        pos_e = self.item_embedding(interaction['item_id'])
        neg_e = self.item_embedding(interaction['neg_item_id'])
        return self.loss((user_e * pos_e).sum(1), (user_e * neg_e).sum(1))


# %%
model = DummyModel(torch.randn(20, 8), torch.randn(40, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for batch_idx in range(5):
    interaction = {'user_id': torch.randint(0, 20, (16,)), 'item_id': torch.randint(0, 40, (16,)), 'neg_item_id': torch.randint(0, 40, (16,))}
    optimizer.zero_grad()
    loss = model.calculate_loss(interaction)
    loss.backward()
    optimizer.step()
    print(batch_idx, loss.item())
