# https://github.com/dvgodoy/PyTorchStepByStep/pull/28
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(42)


class StepByStep:
    def __init__(self, model, loss_fn, optimizer):
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.train_loader = None
        self.losses = []

    def set_loaders(self, train_loader):
        self.train_loader = train_loader

    def train_step_fn(self, x, y):
        self.model.train()
        yhat = self.model(x)
        loss = self.loss_fn(yhat, y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def train(self, n_epochs):
        for epoch in range(n_epochs):
            losses = [self.train_step_fn(x, y) for x, y in self.train_loader]
            self.losses.append(sum(losses) / len(losses))


# %%
x = torch.rand(80, 1)
y = 1 + 2 * x + 0.1 * torch.randn(80, 1)
train_loader = [(x[i:i + 16], y[i:i + 16]) for i in range(0, 80, 16)]

torch.manual_seed(42)
model = nn.Sequential()
model.add_module('linear', nn.Linear(1, 1))
loss_fn = nn.MSELoss(reduction='mean')
initial_weight = model.linear.weight.item()
model_state = model.state_dict()
print(model_state)

# %%
starts = {}
results = {}
optimizers = {'SGD': {'class': optim.SGD, 'parms': {'lr': 0.1}},
              'Adam': {'class': optim.Adam, 'parms': {'lr': 0.1}}}
for name, spec in optimizers.items():
    model.load_state_dict(model_state)
    starts[name] = model.linear.weight.item()
    optimizer = spec['class'](model.parameters(), **spec['parms'])
    sbs = StepByStep(model, loss_fn, optimizer)
    sbs.set_loaders(train_loader)
    sbs.train(10)
    results[name] = sbs.losses
    print(name, starts[name], sbs.losses[0], sbs.losses[-1])
print(model_state)
