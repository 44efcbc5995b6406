# https://github.com/neuralmagic/sparseml/issues/965
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TrainableParamsModifier:
    """Sets whether the parameters named are trained, from an epoch on."""

    def __init__(self, params, trainable, start_epoch=0.0):
        self.params, self.trainable, self.start_epoch = params, trainable, start_epoch
        self.done = False

    def update(self, module, epoch):
        if self.done or epoch < self.start_epoch:
            return
        for name, param in module.named_parameters():
            if name in self.params:
                param.requires_grad = self.trainable
        self.done = True


class ScheduledOptimizer:
    def __init__(self, optimizer, module, modifiers, steps_per_epoch):
        self.optimizer, self.module, self.modifiers = optimizer, module, modifiers
        self.steps, self.steps_per_epoch = 0, steps_per_epoch

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=False)

    def step(self):
        for modifier in self.modifiers:
            modifier.update(self.module, self.steps / self.steps_per_epoch)
        self.optimizer.step()
        self.steps += 1


# %%
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
frozen_at_first = model[0].weight.detach().clone()
optimizer = ScheduledOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model,
    [TrainableParamsModifier(["0.weight", "0.bias"], trainable=False)], steps_per_epoch=10)
for step in range(20):
    x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item(), (model[0].weight - frozen_at_first).abs().max().item())
