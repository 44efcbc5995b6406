# https://github.com/kjaved0/mrcl/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Learner(nn.Module):
    """RLN: vars[0:2], fixed in the inner loop; PLN: vars[2:4], adapted."""

    def __init__(self, in_dim=4, hidden=16, out_dim=3):
        super().__init__()
        self.vars = nn.ParameterList([
            nn.Parameter(torch.randn(hidden, in_dim) * 0.5), nn.Parameter(torch.zeros(hidden)),
            nn.Parameter(torch.randn(out_dim, hidden) * 0.1), nn.Parameter(torch.zeros(out_dim))])

    def forward(self, x, vars=None):
        vars = list(self.vars) if vars is None else vars
        x = torch.tanh(F.linear(x, vars[0], vars[1]))
        return F.linear(x, vars[2], vars[3])


class MetaLearingClassification(nn.Module):
    def __init__(self, update_lr=0.5, meta_lr=1e-2):
        super().__init__()
        self.update_lr = update_lr
        self.net = Learner()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        logits = self.net(x, fast_weights)
        loss = F.cross_entropy(logits, y)
        fast_weights = list(self.net.vars) if fast_weights is None else fast_weights
        grad = torch.autograd.grad(loss, fast_weights[2:])
        return fast_weights[:2] + [w - self.update_lr * g for w, g in zip(fast_weights[2:], grad)]

    def meta_loss(self, x, fast_weights, y):
        return F.cross_entropy(self.net(x, fast_weights), y)

    def forward(self, x_traj, y_traj, x_rand, y_rand):
        fast_weights = self.inner_update(x_traj[0], None, y_traj[0])
        for k in range(1, len(x_traj)):
            fast_weights = self.inner_update(x_traj[k], fast_weights, y_traj[k])
        meta_loss = self.meta_loss(x_rand, fast_weights, y_rand)
        self.net.zero_grad()
        meta_loss.backward()
        self.optimizer.step()
        return meta_loss.item()


# %%
maml = MetaLearingClassification()
w = torch.randn(4, 3)


def batch(n):
    x = torch.randn(n, 4)
    return x, (x @ w).argmax(1)


# %%
for step in range(10):
    trajectory = [batch(5) for _ in range(4)]
    x_rand, y_rand = batch(20)
    loss = maml([x for x, _ in trajectory], [y for _, y in trajectory], x_rand, y_rand)
    print(step, loss)
