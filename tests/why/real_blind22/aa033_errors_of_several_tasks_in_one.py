# https://github.com/learnables/learn2learn/issues/388
import copy

import torch
from torch import nn, optim
from torch.autograd import grad

torch.manual_seed(0)


def clone_module(module):
    clone = copy.copy(module)
    clone.__dict__ = dict(module.__dict__)
    clone._parameters = {k: None if p is None else p.clone() for k, p in module._parameters.items()}
    clone._modules = {k: clone_module(m) for k, m in module._modules.items()}
    return clone


def update_module(module, updates):
    for k, p in module._parameters.items():
        if p is not None:
            module._parameters[k] = p + next(updates)
    for m in module._modules.values():
        update_module(m, updates)


class MAML(nn.Module):
    def __init__(self, model, lr, first_order=False):
        super().__init__()
        self.module = model
        self.lr = lr
        self.first_order = first_order

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def weights(self, module):
        own = [p for p in module._parameters.values() if p is not None]
        return own + [p for m in module._modules.values() for p in self.weights(m)]

    def adapt(self, loss):
        gradients = grad(loss, self.weights(self.module), create_graph=not self.first_order)
        update_module(self.module, iter([-self.lr * g for g in gradients]))


def accuracy(predictions, targets):
    predictions = predictions.argmax(dim=1).view(targets.shape)
    return (predictions == targets).sum().float() / targets.size(0)


def fast_adapt(batch, learner, loss, adaptation_steps):
    (adaptation_data, adaptation_labels), (evaluation_data, evaluation_labels) = batch
    for step in range(adaptation_steps):
        learner.adapt(loss(learner(adaptation_data), adaptation_labels))
    predictions = learner(evaluation_data)
    return loss(predictions, evaluation_labels), accuracy(predictions, evaluation_labels)


class Tasks:
    def __init__(self, n, ways=5, shots=3):
        centers = torch.randn(n, ways, 16)
        labels = torch.arange(ways).repeat_interleave(shots)
        self.tasks = [tuple((c[labels] + 0.5 * torch.randn(len(labels), 16), labels) for _ in range(2)) for c in centers]
        self.at = 0

    def sample(self):
        self.at += 1
        return self.tasks[(self.at - 1) % len(self.tasks)]


# %%
meta_lr, fast_lr, adaptation_steps, meta_batch_size, num_iterations = 0.003, 0.1, 1, 4, 10
train_tasks = Tasks(8)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5))
maml = MAML(model, lr=fast_lr, first_order=False)
opt = optim.Adam(maml.parameters(), meta_lr)
loss = nn.CrossEntropyLoss(reduction='mean')

# %%
opt.zero_grad()
for task in range(meta_batch_size):
    evaluation_error, evaluation_accuracy = fast_adapt(train_tasks.sample(), maml.clone(), loss, adaptation_steps)
    evaluation_error.backward()
typical = [p.grad / meta_batch_size for p in maml.parameters()]
train_tasks.at = 0

# %%
for iteration in range(1, num_iterations + 1):
    opt.zero_grad()
    meta_train_error = 0.0
    meta_train_accuracy = 0.0
    batch_loss = None
    for task in range(meta_batch_size):
        learner = maml.clone()
        batch = train_tasks.sample()
        evaluation_error, evaluation_accuracy = fast_adapt(batch, learner, loss, adaptation_steps)
        if batch_loss is None:
            batch_loss = evaluation_error
        else:
            batch_loss += evaluation_error.item()
        meta_train_error += evaluation_error.item()
        meta_train_accuracy += evaluation_accuracy

    # Average the accumulated loss and optimize
    batch_loss /= meta_batch_size
    batch_loss.backward()
    if iteration == 1:
        faster = [p.grad.clone() for p in maml.parameters()]
    opt.step()
