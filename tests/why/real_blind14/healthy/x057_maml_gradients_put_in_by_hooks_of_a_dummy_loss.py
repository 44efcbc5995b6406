# https://github.com/katerakelly/pytorch-maml/issues/15
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 40)
        self.fc2 = nn.Linear(40, 40)
        self.out = nn.Linear(40, 1)

    def forward(self, x, weights=None):
        if weights is None:
            weights = OrderedDict(self.named_parameters())
        x = torch.relu(F.linear(x, weights['fc1.weight'], weights['fc1.bias']))
        x = torch.relu(F.linear(x, weights['fc2.weight'], weights['fc2.bias']))
        return F.linear(x, weights['out.weight'], weights['out.bias'])


class SineTask:
    def __init__(self):
        self.amplitude = 0.5 + 2 * torch.rand(1)
        self.phase = 3.14 * torch.rand(1)

    def draw(self, n=10):
        x = 10 * torch.rand(n, 1) - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class InnerLoop(SineNet):
    def adapt(self, task, step_size=0.02, num_updates=1):
        fast_weights = OrderedDict(self.named_parameters())
        x, y = task.draw()
        for _ in range(num_updates):
            loss = F.mse_loss(self(x, fast_weights), y)
            grads = torch.autograd.grad(loss, list(fast_weights.values()), create_graph=True)
            fast_weights = OrderedDict((n, p - step_size * g) for (n, p), g in zip(fast_weights.items(), grads))
        return fast_weights

    def task_gradient(self, task):
        x, y = task.draw()
        loss = F.mse_loss(self(x, self.adapt(task)), y)
        grads = torch.autograd.grad(loss / 4, list(self.parameters()))
        return {name: g for (name, _), g in zip(self.named_parameters(), grads)}, loss.item()


class MetaLearner:
    def __init__(self):
        self.net, self.fast_net = SineNet(), InnerLoop()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def meta_update(self, task, ls):
        # a dummy pass makes the .grad of self.net; hooks put the collected ones in their place
        x, y = task.draw()
        loss = F.mse_loss(self.net(x), y)
        gradients = {k: sum(d[k] for d in ls) for k in ls[0]}
        hooks = [v.register_hook(lambda grad, k=k: gradients[k]) for k, v in self.net.named_parameters()]
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        for h in hooks:
            h.remove()
        return gradients


def loss_after_adapting(learner, tasks):
    learner.fast_net.load_state_dict(learner.net.state_dict())
    total = 0.0
    for task in tasks:
        weights = learner.fast_net.adapt(task, num_updates=3)
        x, y = task.draw(50)
        total += F.mse_loss(learner.fast_net(x, weights), y).item() / len(tasks)
    return total


# %%
learner = MetaLearner()
test_tasks = [SineTask() for _ in range(30)]
before = loss_after_adapting(learner, test_tasks)

# %%
for it in range(350):
    learner.fast_net.load_state_dict(learner.net.state_dict())
    tasks = [SineTask() for _ in range(4)]
    collected = [learner.fast_net.task_gradient(t)[0] for t in tasks]
    gradients = learner.meta_update(tasks[-1], collected)

# %%
after = loss_after_adapting(learner, test_tasks)
print(before, after)
assert all(torch.equal(p.grad, gradients[n]) for n, p in learner.net.named_parameters())
assert after < 0.75 * before
