# https://github.com/vmikulik/maml-pytorch/issues/2
from copy import deepcopy

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class Sine_Task():
    """A sine wave data distribution object with interfaces designed for MAML."""

    def __init__(self, amplitude, phase):
        self.amplitude, self.phase = amplitude, phase

    def sample_data(self, size=10):
        x = torch.rand(size, 1) * 10 - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class Sine_Task_Distribution():
    def sample_task(self):
        return Sine_Task(np.random.uniform(0.1, 5), np.random.uniform(0, np.pi))


class MAML():
    def __init__(self, model, tasks, inner_lr, meta_lr, K=10, inner_steps=1, tasks_per_meta_batch=3):
        # important objects
        self.tasks = tasks
        self.model = model
        self.names = [n for n, _ in model.named_parameters()]
        self.weights = list(model.parameters())  # the maml weights we will be meta-optimising
        self.criterion = nn.MSELoss()
        self.meta_optimiser = torch.optim.Adam(self.weights, meta_lr)
        # hyperparameters
        self.inner_lr, self.K, self.inner_steps = inner_lr, K, inner_steps
        self.tasks_per_meta_batch = tasks_per_meta_batch
        self.meta_losses = []

    def put_weights(self, model, weights):
        for name, weight in zip(self.names, weights):
            module = model
            *path, last = name.split('.')
            for part in path:
                module = getattr(module, part)
            if last in module._parameters:
                del module._parameters[last]
            setattr(module, last, weight)

    def inner_loop(self, task):
        # deepcopy instead of a parameterised model
        temp_model = deepcopy(self.model)
        temp_weights = list(temp_model.parameters())
        # perform training on data sampled from task
        X, y = task.sample_data(self.K)
        for step in range(self.inner_steps):
            loss = self.criterion(temp_model(X), y) / self.K
            # compute grad and update inner loop weights
            grad = torch.autograd.grad(loss, temp_weights, create_graph=True)
            temp_weights = [w - self.inner_lr * g for w, g in zip(temp_weights, grad)]
            self.put_weights(temp_model, temp_weights)
        # sample new data for meta-update and compute loss
        X, y = task.sample_data(self.K)
        return self.criterion(temp_model(X), y) / self.K

    def main_loop(self, num_iterations):
        for iteration in range(1, num_iterations + 1):
            # compute meta loss
            meta_loss = 0
            for i in range(self.tasks_per_meta_batch):
                task = self.tasks.sample_task()
                meta_loss += self.inner_loop(task)
            # compute meta gradient of loss with respect to maml weights
            meta_grads = torch.autograd.grad(meta_loss, self.weights)
            # assign meta gradient to weights and take optimisation step
            for w, g in zip(self.weights, meta_grads):
                w.grad = g
            self.meta_optimiser.step()
            self.meta_losses.append(meta_loss.item() / self.tasks_per_meta_batch)
            print(iteration, self.meta_losses[-1])


# %%
model = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 1))
maml = MAML(model, Sine_Task_Distribution(), inner_lr=0.01, meta_lr=0.001)
maml.main_loop(num_iterations=3)
