# https://github.com/huggingface/sentence-transformers/pull/4020
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class OnlineContrastiveLoss(nn.Module):
    def __init__(self, model, margin=0.5):
        super().__init__()
        self.model, self.margin = model, margin

    def forward(self, sentence_features, labels, size_average=False):
        embeddings = [self.model(features) for features in sentence_features]
        distance_matrix = 1 - F.cosine_similarity(embeddings[0], embeddings[1])
        negs = distance_matrix[labels == 0]
        poss = distance_matrix[labels == 1]

        # select hard positive and hard negative pairs
        negative_pairs = negs[negs < (poss.max() if len(poss) > 1 else negs.mean())]
        positive_pairs = poss[poss > (negs.min() if len(negs) > 1 else poss.mean())]

        positive_loss = positive_pairs.pow(2).sum()
        negative_loss = F.relu(self.margin - negative_pairs).pow(2).sum()
        return positive_loss + negative_loss


# %%
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 8))
train_loss = OnlineContrastiveLoss(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
anchor = torch.randn(2, 16)
other = torch.stack([-anchor[0], anchor[1] + 0.1 * torch.randn(16)])
labels = torch.tensor([1, 0])
for step in range(3):
    optimizer.zero_grad()
    loss = train_loss([anchor, other], labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item(), model[0].weight.grad.abs().max().item())
