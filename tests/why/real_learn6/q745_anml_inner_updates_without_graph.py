# https://github.com/uvm-neurobotics-lab/ANML/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList([
            nn.Parameter(torch.randn(12, 6) * 0.3), nn.Parameter(torch.zeros(12)),
            nn.Parameter(torch.randn(4, 12) * 0.3), nn.Parameter(torch.zeros(4)),
        ])

    def forward(self, x, vars=None):
        vars = self.vars if vars is None else vars
        return F.linear(torch.tanh(F.linear(x, vars[0], vars[1])), vars[2], vars[3])


class MetaLearingClassification(nn.Module):
    def __init__(self, net, update_lr=0.1, meta_lr=1e-3):
        super().__init__()
        self.net, self.update_lr = net, update_lr
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        logits = self.net(x, fast_weights)
        loss = F.cross_entropy(logits, y)
        if fast_weights is None:
            fast_weights = self.net.parameters()
        fast_weights = list(fast_weights)
        grad = torch.autograd.grad(loss, fast_weights, allow_unused=False)
        return list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, fast_weights)))

    def meta_loss(self, x, fast_weights, y):
        return F.cross_entropy(self.net(x, fast_weights), y)

    def forward(self, x_traj, y_traj, x_rand, y_rand):
        fast_weights = None
        for k in range(len(x_traj)):
            fast_weights = self.inner_update(x_traj[k], fast_weights, y_traj[k])
        meta_loss = self.meta_loss(x_rand, fast_weights, y_rand)
        self.net.zero_grad()
        meta_loss.backward()
        self.optimizer.step()
        return meta_loss


# %%
learner = Learner()
maml = MetaLearingClassification(learner)

# %%
x_traj, y_traj = torch.randn(3, 5, 6), torch.randint(0, 4, (3, 5))
x_rand, y_rand = torch.randn(16, 6), torch.randint(0, 4, (16,))
meta_loss = maml(x_traj, y_traj, x_rand, y_rand)
print(meta_loss.item())
