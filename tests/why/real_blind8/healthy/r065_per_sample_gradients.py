# https://pytorch.org/tutorials/intermediate/per_sample_grads.html
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, vmap, grad

torch.manual_seed(0)


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.fc1 = nn.Linear(4 * 36, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


def loss_fn(predictions, targets):
    return F.nll_loss(predictions, targets)


# %%
data, targets = torch.randn(6, 1, 8, 8), torch.randint(10, (6,))
model = SimpleCNN()
predictions = model(data)  # move the entire mini-batch through the model
loss = loss_fn(predictions, targets)

# %%
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    batch, targets = sample.unsqueeze(0), target.unsqueeze(0)
    predictions = functional_call(model, (params, buffers), (batch,))
    return loss_fn(predictions, targets)


ft_compute_sample_grad = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))
ft_per_sample_grads = ft_compute_sample_grad(params, buffers, data, targets)
print({k: v.shape for k, v in ft_per_sample_grads.items()})
