# https://github.com/KanishJebaMathewM/Truxify/issues/13118
import copy

import torch
import torch.nn as nn
import torch.optim as optim


class DemandNet(nn.Module):
    """Predicts the demand of a region from its features."""

    def __init__(self, input_dim=5, hidden_dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.ReLU(),
                                 nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, x):
        return self.net(x)


class MAML:
    def __init__(self, model, inner_lr=0.01, outer_lr=0.001, inner_steps=3):
        self.model = model
        self.inner_lr, self.inner_steps = inner_lr, inner_steps
        self.optimizer = optim.Adam(self.model.parameters(), lr=outer_lr)
        self.criterion = nn.MSELoss()

    def inner_update(self, model, support_x, support_y):
        adapted_model = copy.deepcopy(model)
        for _ in range(self.inner_steps):
            loss = self.criterion(adapted_model(support_x), support_y)
            grads = torch.autograd.grad(loss, adapted_model.parameters(), create_graph=True)
            for param, grad in zip(adapted_model.parameters(), grads):
                param.data -= self.inner_lr * grad
        return adapted_model

    def outer_update(self, meta_loss):
        self.optimizer.zero_grad()
        meta_loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def meta_train_step(self, tasks):
        meta_loss = 0.0
        for support_x, support_y, query_x, query_y in tasks:
            adapted_model = self.inner_update(self.model, support_x, support_y)
            pred = adapted_model(query_x)
            task_loss = self.criterion(pred, query_y)
            meta_loss += task_loss
        meta_loss = meta_loss / len(tasks)
        self.outer_update(meta_loss)
        return meta_loss.item()


def sample_tasks(n):
    tasks = []
    for _ in range(n):
        w = torch.randn(5, 1)
        sx, qx = torch.randn(10, 5), torch.randn(10, 5)
        tasks.append((sx, sx @ w, qx, qx @ w))
    return tasks


# %%
maml = MAML(DemandNet())
before = copy.deepcopy(maml.model.state_dict())
history = [maml.meta_train_step(sample_tasks(4)) for _ in range(5)]

# %%
after = maml.model.state_dict()
print(history)
print([torch.equal(before[k], after[k]) for k in before])
