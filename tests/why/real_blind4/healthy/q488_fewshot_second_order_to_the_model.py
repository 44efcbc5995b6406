# https://github.com/oscarknagg/few-shot/issues/9
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    """few-shot classifier that can be called with other weights"""

    def __init__(self, k_way, hidden=16):
        super().__init__()
        self.layer1 = nn.Linear(10, hidden)
        self.logits = nn.Linear(hidden, k_way)

    def forward(self, x):
        return self.logits(F.relu(self.layer1(x)))

    def functional_forward(self, x, weights):
        x = F.relu(F.linear(x, weights['layer1.weight'], weights['layer1.bias']))
        return F.linear(x, weights['logits.weight'], weights['logits.bias'])


def create_nshot_task_label(k, n):
    return torch.arange(0, k, 1 / n).long()


def meta_gradient_step(model, optimiser, loss_fn, x, y, n_shot, k_way, q_queries, order, inner_train_steps, inner_lr, train):
    create_graph = (True if order == 2 else False) and train
    task_gradients, task_losses, task_predictions = [], [], []
    for meta_batch in x:
        # By construction x is a 3D tensor of shape: (meta_batch_size, n*k + q*k, features)
        x_task_train, x_task_val = meta_batch[:n_shot * k_way], meta_batch[n_shot * k_way:]
        # Create a fast model using the current meta model weights
        fast_weights = OrderedDict(model.named_parameters())

        # Train the model for `inner_train_steps` iterations
        for inner_batch in range(inner_train_steps):
            y = create_nshot_task_label(k_way, n_shot)
            logits = model.functional_forward(x_task_train, fast_weights)
            loss = loss_fn(logits, y)
            gradients = torch.autograd.grad(loss, fast_weights.values(), create_graph=create_graph)
            # Update weights manually
            fast_weights = OrderedDict((name, param - inner_lr * grad) for ((name, param), grad) in zip(fast_weights.items(), gradients))

        # Do a pass of the model on the validation data from the current task
        y = create_nshot_task_label(k_way, q_queries)
        logits = model.functional_forward(x_task_val, fast_weights)
        loss = loss_fn(logits, y)
        task_predictions.append(logits.softmax(dim=1))
        task_losses.append(loss)

    model.train()
    optimiser.zero_grad()
    meta_batch_loss = torch.stack(task_losses).mean()
    if train:
        meta_batch_loss.backward()
        optimiser.step()
    return meta_batch_loss, torch.cat(task_predictions)


# %%
n, k, q = 1, 3, 2
model = Model(k)
meta_optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    centres = torch.randn(4, k, 10)
    train = centres.repeat_interleave(n, 1) + 0.2 * torch.randn(4, n * k, 10)
    val = centres.repeat_interleave(q, 1) + 0.2 * torch.randn(4, q * k, 10)
    meta_batch_loss, pred = meta_gradient_step(model, meta_optimiser, nn.CrossEntropyLoss(), torch.cat([train, val], 1), None, n, k, q,
                                               order=2, inner_train_steps=2, inner_lr=0.1, train=True)
    print(epoch, meta_batch_loss.item())
