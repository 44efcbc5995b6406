# https://github.com/kdwonn/DivE/issues/2
import torch
import torch.nn as nn

torch.manual_seed(0)
SLOTS, DIM = 3, 32


class SlotAttention(nn.Module):
    def __init__(self, dim=DIM, iters=3, first_order=True):
        super().__init__()
        self.iters, self.first_order = iters, first_order
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.gru = nn.GRUCell(dim, dim)
        self.norm_input, self.norm_slots, self.norm_ff = (nn.LayerNorm(dim) for _ in range(3))
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def step(self, slots, k, v):
        b, n, d = slots.shape
        q = self.to_q(self.norm_slots(slots))
        attn = torch.softmax(q @ k.transpose(1, 2) * d**-0.5, dim=1) + 1e-8
        updates = attn / attn.sum(-1, keepdim=True) @ v
        slots = self.gru(updates.reshape(-1, d), slots.reshape(-1, d)).view(b, n, d)
        return slots + self.ff(self.norm_ff(slots))

    def forward(self, inputs, slots):
        inputs = self.norm_input(inputs)
        k, v = self.to_k(inputs), self.to_v(inputs)
        for i in range(self.iters):
            if i == self.iters - 1 and self.first_order:
                # the slots are taken as a fixed point: only the last step is differentiated
                slots = self.before_last = slots.detach()
            slots = self.step(slots, k, v)
        return slots


class SetPredictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(2, DIM), nn.ReLU(), nn.Linear(DIM, DIM))
        self.attention = SlotAttention()
        self.register_buffer('start', torch.randn(1, SLOTS, DIM))
        self.head = nn.Linear(DIM, 2)

    def forward(self, points):
        slots = self.start.expand(len(points), -1, -1)
        return self.head(self.attention(self.embed(points), slots))


def chamfer(pred, target):
    d = (pred[:, :, None] - target[:, None]).pow(2).sum(-1)
    return d.min(1).values.mean() + d.min(2).values.mean()


def swarms(n, per=6):
    """Each of three sectors holds one swarm of points; asked are the middles."""
    angle = (torch.arange(SLOTS) + torch.rand(n, SLOTS)) * 2.1
    middles = 1.5 * torch.stack([angle.cos(), angle.sin()], -1)
    points = middles.repeat_interleave(per, dim=1) + 0.1 * torch.randn(n, SLOTS * per, 2)
    return points[:, torch.randperm(SLOTS * per)], middles


# %%
model = SetPredictor()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
losses = []
for step in range(200):
    points, middles = swarms(64)
    loss = chamfer(model(points), middles)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())

# %%
with torch.no_grad():
    points, middles = swarms(300)
    error = chamfer(model(points), middles).item()
print(losses[0], losses[-1], error)
assert not model.attention.before_last.requires_grad
assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters())
assert error < 0.15 * losses[0]
