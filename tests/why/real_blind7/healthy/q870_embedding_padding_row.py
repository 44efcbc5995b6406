# https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html
import torch
import torch.nn as nn

torch.manual_seed(0)
embedding = nn.Embedding(12, 4, padding_idx=0)
classifier = nn.Linear(4, 2)
optimizer = torch.optim.SGD([*embedding.parameters(), *classifier.parameters()], lr=0.1)
before = embedding.weight.detach().clone()

# %%
input = torch.tensor([[1, 2, 4, 5, 0, 0], [4, 3, 2, 1, 5, 0]])
lengths = (input != 0).sum(1, keepdim=True)
logits = classifier(embedding(input).sum(1) / lengths)
loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
optimizer.zero_grad()
loss.backward()
print(embedding.weight.grad)
optimizer.step()
