# https://github.com/facebookresearch/moco/issues/70
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
K, m, T = 64, 0.9, 0.2

# %%
encoder_q = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
encoder_k = copy.deepcopy(encoder_q)
for param_k in encoder_k.parameters():
    param_k.requires_grad = False  # not update by gradient
queue = F.normalize(torch.randn(16, K), dim=0)
optimizer = torch.optim.SGD(encoder_q.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
images = torch.randn(32, 20)
key_before = encoder_k[0].weight.clone()


@torch.no_grad()
def _momentum_update_key_encoder():
    """Momentum update of the key encoder"""
    for param_q, param_k in zip(encoder_q.parameters(), encoder_k.parameters()):
        param_k.data = param_k.data * m + param_q.data * (1. - m)


# %%
losses, ptr = [], 0
for i in range(40):
    im_q, im_k = images + 0.1 * torch.randn_like(images), images + 0.1 * torch.randn_like(images)
    q = F.normalize(encoder_q(im_q), dim=1)
    # compute key features
    with torch.no_grad():  # no gradient to keys
        _momentum_update_key_encoder()
        k = F.normalize(encoder_k(im_k), dim=1)
    l_pos = torch.einsum('nc,nc->n', [q, k]).unsqueeze(-1)
    l_neg = torch.einsum('nc,ck->nk', [q, queue.clone().detach()])
    logits = torch.cat([l_pos, l_neg], dim=1) / T
    loss = F.cross_entropy(logits, torch.zeros(32, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    # dequeue and enqueue
    queue[:, ptr:ptr + 32] = k.T
    ptr = (ptr + 32) % K
    losses.append(loss.item())
print(losses[2], losses[-1])
assert not torch.equal(encoder_k[0].weight, key_before)
assert all(p.grad is None for p in encoder_k.parameters())
assert not torch.equal(encoder_q[0].weight, encoder_k[0].weight)
