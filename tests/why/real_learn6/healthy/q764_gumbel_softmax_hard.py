# https://github.com/pytorch/pytorch/issues/68941
import torch
import torch.nn as nn

torch.manual_seed(0)


def gumbel_softmax(logits, tau=1.0, hard=False, dim=-1):
    gumbels = -torch.empty_like(logits).exponential_().log()
    gumbels = (logits + gumbels) / tau
    y_soft = gumbels.softmax(dim)
    if hard:
        index = y_soft.max(dim, keepdim=True)[1]
        y_hard = torch.zeros_like(logits).scatter_(dim, index, 1.0)
        ret = y_hard - y_soft.detach() + y_soft
    else:
        ret = y_soft
    return ret


# %%
policy, values = nn.Linear(6, 4), torch.randn(4)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)

# %%
for step in range(3):
    choice = gumbel_softmax(policy(torch.randn(8, 6)), hard=True)
    loss = -(choice * values).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
