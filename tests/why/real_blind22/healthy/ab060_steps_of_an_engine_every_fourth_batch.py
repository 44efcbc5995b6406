# https://github.com/pytorch/ignite/issues/583
from types import SimpleNamespace

import torch
import torch.nn as nn

torch.manual_seed(0)


class Engine:
    def __init__(self, process_function):
        self._process_function = process_function
        self.state = SimpleNamespace(iteration=0, epoch=0, output=None)
        self.handlers = []

    def on_iteration_completed(self, handler):
        self.handlers.append(handler)
        return handler

    def run(self, data, max_epochs=1):
        for self.state.epoch in range(1, max_epochs + 1):
            for batch in data:
                self.state.iteration += 1
                self.state.output = self._process_function(self, batch)
                for handler in self.handlers:
                    handler(self)
        return self.state


def prepare_batch(batch, device=None, non_blocking=False):
    x, y = batch
    return x.to(device, non_blocking=non_blocking), y.to(device, non_blocking=non_blocking)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 4, 5)

    def forward(self, x):
        x = torch.relu(torch.max_pool2d(self.conv1(x), 2))
        x = torch.relu(torch.max_pool2d(self.conv2(x), 2))
        return self.fc(x.flatten(1))


# %%
shapes = torch.randn(5, 1, 8, 8)
labels = torch.randint(0, 5, (160,))
images = shapes[labels] + 0.5 * torch.randn(160, 1, 8, 8)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=8, shuffle=True)

device, non_blocking = torch.device('cpu'), False
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
accumulation_steps = 4


def update_fn(engine, batch):
    model.train()

    x, y = prepare_batch(batch, device=device, non_blocking=non_blocking)
    y_pred = model(x)
    loss = criterion(y_pred, y) / accumulation_steps
    loss.backward()

    if engine.state.iteration % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()

    return loss.item()


trainer = Engine(update_fn)
outputs = []


@trainer.on_iteration_completed
def log_loss(engine):
    outputs.append(engine.state.output * accumulation_steps)


# %%
trainer.run(loader, max_epochs=12)
early, late = sum(outputs[:4]) / 4, sum(outputs[-20:]) / 20
print(early, late)
