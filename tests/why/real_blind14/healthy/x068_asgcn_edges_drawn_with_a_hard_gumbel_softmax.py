# https://github.com/limaosen0/AS-GCN/issues/48
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
JOINTS, FRAMES = 5, 8


def my_softmax(logits, dim):
    return F.softmax(logits.transpose(0, dim), dim=0).transpose(0, dim)


def sample_gumbel(shape, eps=1e-10):
    return -torch.log(eps - torch.log(torch.rand(shape) + eps))


def gumbel_softmax(logits, tau, hard):
    y_soft = my_softmax((logits + sample_gumbel(logits.shape)) / tau, dim=-1)
    if not hard:
        return y_soft
    k = y_soft.argmax(-1, keepdim=True)
    y_hard = torch.zeros_like(y_soft).scatter_(-1, k, 1.0)
    return y_hard - y_soft.detach() + y_soft


class InteractEncoder(nn.Module):
    """Says of each pair of joints whether there is an edge."""

    def __init__(self, hidden=32):
        super().__init__()
        self.node = nn.Sequential(nn.Linear(FRAMES, hidden), nn.ELU(), nn.Linear(hidden, hidden))
        self.edge = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ELU(), nn.Linear(hidden, 2))

    def forward(self, x):
        h = self.node(x)
        send, receive = h.unsqueeze(1).expand(-1, JOINTS, -1, -1), h.unsqueeze(2).expand(-1, -1, JOINTS, -1)
        return self.edge(torch.cat([send, receive], -1))


class InteractDecoder(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.msg = nn.Linear(2, hidden)
        self.out = nn.Sequential(nn.Linear(hidden + 2, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, state, edges):
        messages = torch.tanh(self.msg(state)).unsqueeze(1) * edges[..., 1:]
        incoming = messages.sum(2)
        return state[..., 0] + self.out(torch.cat([incoming, state], -1))[..., 0]


def draw_motion(n=64):
    """Joints move on evenly, and each follows its left neighbour in the ring."""
    x = torch.randn(n, JOINTS)
    v = 0.3 * torch.randn(n, JOINTS)
    path = [x]
    for _ in range(FRAMES):
        v = 0.5 * v + 0.5 * (torch.roll(x, 1, dims=1) - x)
        x = x + v
        path.append(x)
    return torch.stack(path, dim=2)


# %%
encoder, decoder = InteractEncoder(), InteractDecoder()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
history, first_grad = [], None

# %%
for iteration in range(250):
    path = draw_motion()
    seen, target = path[..., :FRAMES], path[..., FRAMES]
    logits = encoder(seen)
    edges = gumbel_softmax(logits, tau=0.5, hard=True)
    state = torch.stack([seen[..., -1], seen[..., -1] - seen[..., -2]], -1)
    loss_nll = F.mse_loss(decoder(state, edges), target)
    prob = my_softmax(logits, -1)
    loss_kl = (prob * (prob.clamp(min=1e-8).log() - torch.tensor([0.8, 0.2]).log())).sum(-1).mean()
    loss = loss_nll + 0.01 * loss_kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if first_grad is None:
        first_grad = encoder.node[0].weight.grad.clone()
    history.append(loss_nll.item())
print(history[0], history[-1], edges[..., 1].mean().item())
alone = torch.autograd.grad(F.mse_loss(decoder(state, gumbel_softmax(encoder(seen), 0.5, True)), target), encoder.edge[2].weight)[0]
assert set(edges.detach().round(decimals=5).unique().tolist()) <= {0.0, 1.0}
assert first_grad.abs().sum() > 0 and alone.abs().sum() > 0
assert sum(history[-20:]) < 0.7 * sum(history[:20])
