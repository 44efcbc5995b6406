# Two of four experts are chosen; in this batch the others rest.
import torch
from torch import nn

router, experts = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
optimizer = torch.optim.Adam([*router.parameters(), *experts.parameters()])
x = torch.randn(1, 4)
weights, chosen = router(x).softmax(-1).topk(2)
out = sum(w * experts[i](x) for w, i in zip(weights[0], chosen[0].tolist()))
loss = out.pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
assert router.weight.grad is not None
