# https://discuss.pytorch.org/t/multi-task-learning-whats-the-difference-between-jointly-backward-and-backward-with-retain-graph-true/28162
import torch
from torch import nn

shared, head1, head2 = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 3)
x, y1, y2 = torch.randn(8, 4), torch.randn(8, 1), torch.randint(3, (8,))


def losses():
    h = torch.relu(shared(x))
    return nn.functional.mse_loss(head1(h), y1), nn.functional.cross_entropy(head2(h), y2)


# %%
loss1, loss2 = losses()
(loss1 + loss2).backward()
jointly = shared.weight.grad.clone()
shared.zero_grad()

# %%
loss1, loss2 = losses()
loss1.backward(retain_graph=True)
loss2.backward()
separately = shared.weight.grad.clone()
print((jointly - separately).abs().max())
