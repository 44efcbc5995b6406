# https://github.com/facebookresearch/swav/issues/76
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SwavModel(nn.Module):
    def __init__(self, d_in=16, hidden=64, output_dim=8, nmb_prototypes=10):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d_in, hidden), nn.BatchNorm1d(hidden), nn.ReLU())
        self.projection_head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, output_dim))
        self.prototypes = nn.Linear(output_dim, nmb_prototypes, bias=False)

    def forward(self, x):
        z = F.normalize(self.projection_head(self.encoder(x)), dim=1)
        return z, self.prototypes(z)


@torch.no_grad()
def distributed_sinkhorn(out, epsilon=0.05, iterations=3):
    Q = torch.exp(out / epsilon).t()
    Q /= Q.sum()
    K, B = Q.shape
    for _ in range(iterations):
        Q /= Q.sum(dim=1, keepdim=True)
        Q /= K
        Q /= Q.sum(dim=0, keepdim=True)
        Q /= B
    return (Q * B).t()


centers = 2 * torch.randn(5, 16)


def two_views(n):
    label = torch.randint(0, 5, (n,))
    x = centers[label] + 0.5 * torch.randn(n, 16)
    return x + 0.4 * torch.randn(n, 16), x + 0.4 * torch.randn(n, 16), label


# %%
model = SwavModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-6)
freeze_prototypes_niters, temperature = 40, 0.1
losses, kept = [], []

# %%
for iteration in range(240):
    with torch.no_grad():
        w = F.normalize(model.prototypes.weight.clone(), dim=1, p=2)
        model.prototypes.weight.copy_(w)
    if iteration in (0, freeze_prototypes_niters, 239):
        kept.append(w.clone())
    a, b, _ = two_views(128)
    bs = len(a)
    embedding, output = model(torch.cat([a, b]))
    embedding = embedding.detach()
    loss = 0
    for crop, other in ((0, 1), (1, 0)):
        q = distributed_sinkhorn(output[bs * crop : bs * (crop + 1)].detach())
        x = output[bs * other : bs * (other + 1)] / temperature
        loss = loss - 0.5 * (q * F.log_softmax(x, dim=1)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    if iteration < freeze_prototypes_niters:
        for name, p in model.named_parameters():
            if 'prototypes' in name:
                p.grad = None
    optimizer.step()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    x, _, label = two_views(1000)
    assigned = model(x)[1].argmax(1)
table = torch.zeros(10, 5).index_put_((assigned, label), torch.ones(1000), accumulate=True)
purity = (table.max(1).values.sum() / 1000).item()
moved_frozen, moved_later = ((a - b).abs().max().item() for a, b in zip(kept, kept[1:]))
print(losses[0], losses[39], losses[-1], moved_frozen, moved_later, purity)
assert moved_frozen < 1e-5 and moved_later > 0.05
assert losses[-1] < losses[39] < losses[0]
assert purity > 0.9
