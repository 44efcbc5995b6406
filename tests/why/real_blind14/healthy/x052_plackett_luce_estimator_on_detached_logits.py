# https://github.com/agadetsky/pytorch-pl-variance-reduction/issues/1
import torch
import torch.nn as nn

torch.manual_seed(0)


class PlackettLuce:
    """Orders drawn without replacement."""

    def __init__(self, logits):
        self.logits = logits

    def sample(self):
        gumbel = -torch.log(-torch.log(torch.rand_like(self.logits).clamp(1e-6, 1 - 1e-6)))
        return torch.argsort(self.logits + gumbel, dim=-1, descending=True)

    def log_prob(self, perm):
        ordered = self.logits.gather(-1, perm)
        rest = torch.logcumsumexp(ordered.flip(-1), dim=-1).flip(-1)
        return (ordered - rest).sum(-1)


def reinforce(fb, b, logits, baseline):
    # the estimate is about the logits alone: a detached copy of them begins a new graph
    logits = logits.detach().requires_grad_(True)
    log_pb = PlackettLuce(logits).log_prob(b)
    dlog_pb, = torch.autograd.grad(log_pb, logits, torch.ones_like(log_pb))
    return (fb - baseline).unsqueeze(-1) * dlog_pb


class Ranker(nn.Module):
    def __init__(self, features=5, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, items):
        return self.net(items).squeeze(-1)


def cost(perm, relevance):
    # what is relevant should come early
    places = torch.arange(perm.shape[-1], dtype=torch.float32)
    return (relevance.gather(-1, perm) * places).sum(-1)


true_weights = torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5])


def draw_batch(n=64):
    items = torch.randn(n, 6, 5)
    return items, torch.sigmoid(items @ true_weights)


# %%
model = Ranker()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
history = []

# %%
for iteration in range(300):
    items, relevance = draw_batch()
    log_theta = model(items)
    with torch.no_grad():
        b = PlackettLuce(log_theta).sample()
        fb = cost(b, relevance)
        baseline = cost(PlackettLuce(log_theta).sample(), relevance)
    d_log_theta = reinforce(fb, b, log_theta, baseline)
    optimizer.zero_grad()
    log_theta.backward(d_log_theta / len(items))
    optimizer.step()
    history.append(fb.mean().item())
print(history[0], sum(history[-20:]) / 20)

# %%
items, relevance = draw_batch(500)
with torch.no_grad():
    found = cost(model(items).argsort(-1, descending=True), relevance).mean()
    best = cost(relevance.argsort(-1, descending=True), relevance).mean()
    blind = cost(torch.arange(6).expand(500, 6), relevance).mean()
print(found.item(), best.item(), blind.item())
assert model.net[0].weight.grad.abs().sum() > 0
assert found - best < 0.2 * (blind - best)
