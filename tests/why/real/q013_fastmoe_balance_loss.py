# https://github.com/laekov/fastmoe/issues/49
import torch
import torch.nn as nn
import torch.nn.functional as F

gates = nn.ModuleList(nn.Linear(4, 3) for _ in range(3))
head = nn.Linear(9, 2)
x, y = torch.randn(8, 4), torch.randint(2, (8,))


# %%
def forward(balance_weight):
    loss_list, outs = [], []
    for gate in gates:
        score = gate(x).softmax(-1)
        outs.append(score)
        loss_list.append((score.mean(0) ** 2).sum())
    lm_loss = F.cross_entropy(head(torch.cat(outs, 1)), y)
    balance_loss = torch.tensor(loss_list).mean()
    return lm_loss, balance_loss, lm_loss + balance_weight * balance_loss


# %%
lm_loss, balance_loss, loss = forward(0.0)
loss.backward()
without_balance = gates[0].weight.grad.clone()
gates.zero_grad()

# %%
lm_loss, balance_loss, loss = forward(10.0)
loss.backward()
with_balance = gates[0].weight.grad.clone()
print(balance_loss, (with_balance - without_balance).abs().max())
