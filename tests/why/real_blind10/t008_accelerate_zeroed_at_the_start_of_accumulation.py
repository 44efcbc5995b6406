# https://github.com/huggingface/accelerate/issues/616
import contextlib

import torch
from torch import nn

torch.manual_seed(0)


class AcceleratedOptimizer:
    """Steps and zeroes only when gradients are synchronised."""
    def __init__(self, optimizer, accelerator):
        self.optimizer, self.accelerator = optimizer, accelerator

    def zero_grad(self):
        if self.accelerator.sync_gradients:
            self.optimizer.zero_grad()

    def step(self):
        if self.accelerator.sync_gradients:
            self.optimizer.step()


class Accelerator:
    def __init__(self, gradient_accumulation_steps=1):
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.sync_gradients, self._count = True, 0

    @contextlib.contextmanager
    def accumulate(self, model):
        self._count += 1
        self.sync_gradients = self._count % self.gradient_accumulation_steps == 0
        yield

    def prepare(self, model, optimizer, dataloader):
        return model, AcceleratedOptimizer(optimizer, self), dataloader

    def backward(self, loss):
        (loss / self.gradient_accumulation_steps).backward()


# %%
accelerator = Accelerator(gradient_accumulation_steps=4)
model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_function = nn.MSELoss()
dataset = [(torch.randn(8, 10), torch.randn(8, 1)) for _ in range(8)]
model, optimizer, training_dataloader = accelerator.prepare(model, optimizer, dataset)

# %%
norms = []
for batch in training_dataloader:
    with accelerator.accumulate(model):
        optimizer.zero_grad()
        inputs, targets = batch
        outputs = model(inputs)
        loss = loss_function(outputs, targets)
        accelerator.backward(loss)
        norms.append(model[0].weight.grad.norm().item())
        optimizer.step()
    print(loss.item(), norms[-1])
