# https://github.com/tristandeleu/pytorch-maml/issues/17
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ModelMLPSinusoid(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(1, hidden), nn.Linear(hidden, 1)

    def forward(self, inputs, params=None):
        if params is None:
            params = OrderedDict(self.named_parameters())
        x = F.relu(F.linear(inputs, params['layer1.weight'], params['layer1.bias']))
        return F.linear(x, params['layer2.weight'], params['layer2.bias'])


def gradient_update_parameters(model, loss, params=None, step_size=0.1, first_order=False):
    if params is None:
        params = OrderedDict(model.named_parameters())
    grads = torch.autograd.grad(loss, params.values(), create_graph=not first_order)
    return OrderedDict((name, param - step_size * grad) for (name, param), grad in zip(params.items(), grads))


class ModelAgnosticMetaLearning:
    def __init__(self, model, optimizer, step_size=0.1, num_adaptation_steps=2):
        self.model, self.optimizer = model, optimizer
        self.step_size, self.num_adaptation_steps = step_size, num_adaptation_steps

    def adapt(self, inputs, targets):
        params = None
        for step in range(self.num_adaptation_steps):
            inner_loss = F.mse_loss(self.model(inputs, params=params), targets)
            self.model.zero_grad()
            params = gradient_update_parameters(self.model, inner_loss, params=params, step_size=self.step_size)
        return params

    def get_outer_loss(self, batch):
        mean_outer_loss = torch.tensor(0.)
        for (train_inputs, train_targets), (test_inputs, test_targets) in batch:
            params = self.adapt(train_inputs, train_targets)
            test_logits = self.model(test_inputs, params=params)
            mean_outer_loss = mean_outer_loss + F.mse_loss(test_logits, test_targets) / len(batch)
        return mean_outer_loss

    def train_iter(self, batch):
        self.optimizer.zero_grad()
        outer_loss = self.get_outer_loss(batch)
        outer_loss.backward()
        self.optimizer.step()
        return outer_loss.item()


def sample_task():
    amplitude, phase = 5 * torch.rand(1), 3 * torch.rand(1)
    x = torch.rand(10, 1) * 10 - 5
    y = amplitude * torch.sin(x - phase)
    return (x[:5], y[:5]), (x[5:], y[5:])


# %%
model = ModelMLPSinusoid()
metalearner = ModelAgnosticMetaLearning(model, torch.optim.Adam(model.parameters(), lr=1e-3))
before = {n: p.detach().clone() for n, p in model.named_parameters()}
for i in range(3):
    print(i, metalearner.train_iter([sample_task() for _ in range(4)]))
