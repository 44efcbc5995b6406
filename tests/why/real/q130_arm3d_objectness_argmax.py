# https://github.com/lanlan96/ARM3D/issues/1
import torch
from torch import nn

objectness, relation = nn.Linear(6, 2), nn.Linear(6, 4)
features, labels, classes = torch.randn(10, 6), torch.randint(2, (10,)), torch.randint(4, (10,))

# %%
objectness_scores = objectness(features)
obj_pred = torch.argmax(objectness_scores, 1)
idx_obj = torch.nonzero(obj_pred == obj_pred.mode().values).squeeze(1)

# %%
objectness_loss = nn.functional.cross_entropy(objectness_scores, labels)
relation_loss = nn.functional.cross_entropy(relation(features[idx_obj]), classes[idx_obj])
loss = objectness_loss + relation_loss
loss.backward()
print(objectness.weight.grad.norm(), relation.weight.grad.norm())
