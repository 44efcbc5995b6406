# https://github.com/ag14774/diffdist/issues/3
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
if not dist.is_initialized():
    dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)


class AllGatherFunc(torch.autograd.Function):
    """dist.all_gather with a gradient; the lists to be filled are inputs too."""

    @staticmethod
    def forward(ctx, tensor, group, inplace, *gather_list):
        ctx.group = group
        gather_list = list(gather_list)
        if not inplace:
            gather_list = [torch.zeros_like(g) for g in gather_list]
        dist.all_gather(gather_list, tensor.contiguous(), group=group)
        return tuple(gather_list)

    @staticmethod
    def backward(ctx, *grads):
        stacked = torch.stack([g.contiguous() for g in grads])
        dist.all_reduce(stacked, group=ctx.group)
        return (stacked[dist.get_rank(ctx.group)], None, None) + grads


def all_gather(tensor):
    slots = [torch.zeros_like(tensor) for _ in range(dist.get_world_size())]
    return torch.cat(AllGatherFunc.apply(tensor, None, False, *slots))


class SimCLR(nn.Module):
    def __init__(self, features=10, dim=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, 32))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(32, dim))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(z1, z2, temperature=0.2):
    z = torch.cat([all_gather(z1), all_gather(z2)])
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), float('-inf'))
    n = len(z) // 2
    positives = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, positives)


centers = 2 * torch.randn(4, 5)


def two_views(n=64):
    label = torch.randint(0, 4, (n,))
    content = centers[label] + 0.3 * torch.randn(n, 5)
    return torch.cat([content, 2 * torch.randn(n, 5)], 1), torch.cat([content, 2 * torch.randn(n, 5)], 1), label


# %%
model = SimCLR()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
losses = []

# %%
for step in range(250):
    x1, x2, _ = two_views()
    loss = nt_xent(model(x1), model(x2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])

# %%
z = model(two_views()[0])
weights = torch.randn_like(z)
through_gather = torch.autograd.grad((all_gather(z) * weights).sum(), z)[0]
with torch.no_grad():
    a, _, label = two_views(300)
    h = model(a)
    sim = (h @ h.t()).fill_diagonal_(-1)
    knn = (label[sim.argmax(1)] == label).float().mean().item()
print(knn)
dist.destroy_process_group()
assert torch.allclose(through_gather, weights)
assert losses[-1] < losses[0] - 0.5 and knn > 0.9
