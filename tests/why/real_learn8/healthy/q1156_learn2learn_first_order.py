# https://github.com/learnables/learn2learn/blob/master/learn2learn/algorithms/maml.py
import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)


def clone_module(module):
    clone = module.__new__(type(module))
    clone.__dict__ = module.__dict__.copy()
    clone._parameters, clone._modules = clone._parameters.copy(), clone._modules.copy()
    for key, p in module._parameters.items():
        if p is not None:
            clone._parameters[key] = p.clone()
    for key, m in module._modules.items():
        clone._modules[key] = clone_module(m)
    return clone


def maml_update(model, lr, grads=None):
    if grads is not None:
        for p, g in zip(model.parameters(), grads):
            p.grad = g
    for param_key in model._parameters:
        p = model._parameters[param_key]
        if p is not None and p.grad is not None:
            model._parameters[param_key] = p - lr * p.grad
    for module_key in model._modules:
        model._modules[module_key] = maml_update(model._modules[module_key], lr=lr, grads=None)
    return model


class MAML(nn.Module):
    def __init__(self, model, lr, first_order=False):
        super().__init__()
        self.module, self.lr, self.first_order = model, lr, first_order

    def forward(self, *args):
        return self.module(*args)

    def clone(self):
        return MAML(clone_module(self.module), self.lr, self.first_order)

    def adapt(self, loss):
        second_order = not self.first_order
        gradients = grad(
            loss, self.module.parameters(), retain_graph=second_order, create_graph=second_order
        )
        self.module = maml_update(self.module, self.lr, gradients)


def fast_adapt(batch, learner, loss, adaptation_steps):
    data, labels = batch
    adaptation_data, adaptation_labels = data[::2], labels[::2]
    evaluation_data, evaluation_labels = data[1::2], labels[1::2]
    for step in range(adaptation_steps):
        learner.adapt(loss(learner(adaptation_data), adaptation_labels))
    predictions = learner(evaluation_data)
    valid_error = loss(predictions, evaluation_labels)
    valid_accuracy = (
        predictions.argmax(dim=1) == evaluation_labels
    ).sum().float() / evaluation_labels.size(0)
    return valid_error, valid_accuracy


model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
maml = MAML(model, lr=0.1, first_order=True)
opt = torch.optim.Adam(maml.parameters(), 0.003)
loss = nn.CrossEntropyLoss(reduction="mean")
before = model[0].weight.detach().clone()

# %%
for iteration in range(3):
    opt.zero_grad()
    meta_train_error, meta_valid_error = 0.0, 0.0
    for task in range(2):
        learner = maml.clone()
        batch = torch.randn(12, 6), torch.randint(0, 3, (12,))
        evaluation_error, evaluation_accuracy = fast_adapt(batch, learner, loss, 2)
        evaluation_error.backward()
        meta_train_error += evaluation_error.item()
        learner = maml.clone()
        batch = torch.randn(12, 6), torch.randint(0, 3, (12,))
        evaluation_error, evaluation_accuracy = fast_adapt(batch, learner, loss, 2)
        meta_valid_error += evaluation_error.item()
    print(iteration, meta_train_error / 2, meta_valid_error / 2)
    for p in maml.parameters():
        p.grad.data.mul_(1.0 / 2)
    opt.step()
