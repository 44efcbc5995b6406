# https://github.com/KevinMusgrave/pytorch-metric-learning/issues/107
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def get_all_triplets_indices(labels):
    same = labels[:, None] == labels[None, :]
    positives = same & ~torch.eye(len(labels), dtype=torch.bool)
    triplets = positives[:, :, None] & ~same[:, None, :]
    return torch.where(triplets)


class TripletMarginLoss(nn.Module):
    def __init__(self, margin=0.1, avg_non_zero_only=True):
        super().__init__()
        self.margin = margin
        self.avg_non_zero_only = avg_non_zero_only
        self.num_non_zero_triplets = 0

    def forward(self, embeddings, labels):
        embeddings = F.normalize(embeddings, dim=1)
        anchor_idx, positive_idx, negative_idx = get_all_triplets_indices(labels)
        anchors, positives, negatives = embeddings[anchor_idx], embeddings[positive_idx], embeddings[negative_idx]
        a_p_dist = F.pairwise_distance(anchors, positives)
        a_n_dist = F.pairwise_distance(anchors, negatives)
        relued = F.relu(a_p_dist - a_n_dist + self.margin)
        self.num_non_zero_triplets = (relued > 0).nonzero().size(0)
        if self.avg_non_zero_only:
            return torch.sum(relued) / self.num_non_zero_triplets
        return torch.mean(relued)


# %%
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = TripletMarginLoss(margin=0.1)
centers = 0.3 * torch.randn(3, 6)
for iteration in range(200):
    labels = torch.arange(12) % 3
    data = centers[labels] + 0.1 * torch.randn(12, 6)
    optimizer.zero_grad()
    loss = criterion(model(data), labels)
    loss.backward()
    optimizer.step()
    if iteration % 50 == 0:
        print(iteration, loss.item(), criterion.num_non_zero_triplets)
print(loss.item())
