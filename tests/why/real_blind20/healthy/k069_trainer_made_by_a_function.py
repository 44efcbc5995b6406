# https://github.com/pytorch/ignite/issues/1210
from enum import Enum
from typing import Callable, Optional, Union

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Events(Enum):
    ITERATION_COMPLETED = "iteration_completed"
    EPOCH_COMPLETED = "epoch_completed"


class State:
    def __init__(self, max_epochs):
        self.iteration, self.epoch, self.max_epochs, self.output, self.metrics = 0, 0, max_epochs, None, {}


class Engine:
    def __init__(self, process_function):
        self._process_function = process_function
        self._event_handlers = {event: [] for event in Events}

    def on(self, event):
        def decorator(f):
            self._event_handlers[event].append(f)
            return f
        return decorator

    def _fire_event(self, event):
        for handler in self._event_handlers[event]:
            handler(self)

    def run(self, data, max_epochs=1):
        self.state = State(max_epochs)
        while self.state.epoch < self.state.max_epochs:
            self.state.epoch += 1
            for batch in data:
                self.state.iteration += 1
                self.state.output = self._process_function(self, batch)
                self._fire_event(Events.ITERATION_COMPLETED)
            self._fire_event(Events.EPOCH_COMPLETED)
        return self.state


def _prepare_batch(batch, device=None, non_blocking=False):
    """Prepare batch for training: pass to a device with options."""
    x, y = batch
    return x.to(device=device, non_blocking=non_blocking), y.to(device=device, non_blocking=non_blocking)


def create_supervised_trainer(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_fn: Union[Callable, nn.Module],
    device: Optional[str] = None,
    non_blocking: bool = False,
    prepare_batch: Callable = _prepare_batch,
    output_transform: Callable = lambda x, y, y_pred, loss: loss.item(),
) -> Engine:
    """Factory function for creating a trainer for supervised models."""

    def _update(engine, batch):
        model.train()
        optimizer.zero_grad()
        x, y = prepare_batch(batch, device=device, non_blocking=non_blocking)
        y_pred = model(x)
        loss = loss_fn(y_pred, y)
        loss.backward()
        optimizer.step()
        return output_transform(x, y, y_pred, loss)

    return Engine(_update)


def create_supervised_evaluator(model, device=None, non_blocking=False, prepare_batch=_prepare_batch) -> Engine:
    def _inference(engine, batch):
        model.eval()
        with torch.no_grad():
            x, y = prepare_batch(batch, device=device, non_blocking=non_blocking)
            return model(x), y

    return Engine(_inference)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3)
        self.conv2_drop = nn.Dropout2d(0.2)
        self.fc1 = nn.Linear(16 * 4, 32)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(self.conv2_drop(self.conv2(x)))
        x = x.view(-1, 16 * 4)
        x = F.dropout(F.relu(self.fc1(x)), p=0.2, training=self.training)
        return F.log_softmax(self.fc2(x), dim=-1)


# %%
shapes = (torch.rand(5, 1, 10, 10) > 0.5).float()


def get_loader(n):
    labels = torch.randint(0, 5, (n,))
    data = torch.utils.data.TensorDataset(shapes[labels] + 0.3 * torch.randn(n, 1, 10, 10), labels)
    return torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)


train_loader, val_loader = get_loader(960), get_loader(320)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
trainer = create_supervised_trainer(model, optimizer, F.nll_loss)
evaluator = create_supervised_evaluator(model)
losses, accuracies = [], []


@evaluator.on(Events.ITERATION_COMPLETED)
def count(engine):
    y_pred, y = engine.state.output
    engine.state.metrics["right"] = engine.state.metrics.get("right", 0) + (y_pred.argmax(1) == y).sum().item()


@trainer.on(Events.ITERATION_COMPLETED)
def log_training_loss(engine):
    losses.append(engine.state.output)


@trainer.on(Events.EPOCH_COMPLETED)
def log_validation_results(engine):
    accuracies.append(evaluator.run(val_loader).metrics["right"] / 320)


# %%
trainer.run(train_loader, max_epochs=6)
x, y = next(iter(train_loader))
single = torch.autograd.grad(F.nll_loss(model.eval()(x), y), list(model.parameters()))
optimizer.zero_grad()
F.nll_loss(model(x), y).backward()
same = all(torch.allclose(a, p.grad, atol=1e-6) for a, p in zip(single, model.parameters()))
print(losses[0], losses[-1], accuracies, same)
assert same and accuracies[-1] > 0.85 and losses[-1] < 0.5 * losses[0]
