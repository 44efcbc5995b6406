# https://pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
import torch
import torch.nn.functional as F

torch.manual_seed(0)
logits = torch.zeros(5, requires_grad=True)
values = torch.tensor([1., 2., 3., 4., 5.])
optimizer = torch.optim.Adam([logits], lr=0.1)
before = logits.detach().clone()

# %%
for i in range(5):
    # Sample hard categorical using "Straight-through" trick:
    choice = F.gumbel_softmax(logits.expand(16, 5), tau=1, hard=True)
    loss = (choice @ values).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item(), choice[0])
