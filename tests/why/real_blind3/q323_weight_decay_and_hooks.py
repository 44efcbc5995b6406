# https://github.com/pytorch/pytorch/issues/38581
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


# Hook class
class ActiveGradsHook:
    def __init__(self, name):
        self.name = name

    def __call__(self, grad):
        return torch.zeros(grad.shape)


def train_new_neurons(model):
    # Generate hooks for each layer
    for name, param in model.named_parameters():
        hook = ActiveGradsHook(name)
        param.register_hook(hook)

    # Train simply
    train(model)


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0, weight_decay=0.01)

    for epoch in range(2):
        for inputs, action_target in loader:
            action_output = model(inputs)
            loss = nn.MSELoss()(action_target, action_output)

            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


# %%
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.rand(8, 3), torch.rand(8, 2)), batch_size=2)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
initial_weights = model[0].weight.clone().detach()

# %%
train_new_neurons(model)
print(model[0].weight.grad)
print(model[0].weight - initial_weights)
