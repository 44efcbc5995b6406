# https://github.com/wenet-e2e/wekws/issues/72
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data_loader = [(torch.randn(4, 6), torch.randint(3, (4,))) for _ in range(3)]


# %%
def train(model, optimizer, data_loader, clip=1000.0):
    model.train()
    for feats, target in data_loader:
        logits = model(feats)
        loss = nn.functional.cross_entropy(logits, target)
        last, = torch.autograd.grad(loss, model.weight, retain_graph=True)
        loss.backward()
        grad_norm = clip_grad_norm_(model.parameters(), clip)
        if torch.isfinite(grad_norm):
            optimizer.step()
    return last


# %%
grad_of_the_last_batch = train(model, optimizer, data_loader)
print(model.weight.grad.norm(), grad_of_the_last_batch.norm())
