# https://github.com/anhaidgroup/deepmatcher/issues/50
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

encoder, score = nn.GRU(6, 8, batch_first=True), nn.Linear(8, 1)
classifier = nn.Linear(8, 2)
params = [*encoder.parameters(), *score.parameters(), *classifier.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-3)
before = score.weight.detach().clone()

# %%
for step in range(3):
    words, lengths = torch.randn(4, 7, 6), torch.tensor([7, 5, 3, 2])
    mask = torch.arange(7)[None] >= lengths[:, None]
    states, _ = encoder(words)
    weights = score(states).squeeze(-1)
    weights.masked_fill_(mask, -float("inf"))
    summary = (F.softmax(weights, dim=1)[..., None] * states).sum(1)
    loss = F.cross_entropy(classifier(summary), torch.tensor([0, 1, 1, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
