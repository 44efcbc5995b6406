# Keys of a slow encoder under no_grad, a queue that is overwritten.
import torch
import torch.nn.functional as F
from torch import nn

encoder, slow = nn.Linear(5, 4), nn.Linear(5, 4)
slow.load_state_dict(encoder.state_dict())
slow.requires_grad_(False)
queue = F.normalize(torch.randn(16, 4), dim=1)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
for a, b in zip(torch.randn(2, 8, 5), torch.randn(2, 8, 5)):
    q = F.normalize(encoder(a), dim=1)
    with torch.no_grad():
        for p, s in zip(encoder.parameters(), slow.parameters()):
            s.mul_(0.99).add_(p, alpha=0.01)
        k = F.normalize(slow(b), dim=1)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.2
    loss = F.cross_entropy(logits, torch.zeros(8, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue = torch.cat([queue[8:], k])
assert encoder.weight.grad is not None
