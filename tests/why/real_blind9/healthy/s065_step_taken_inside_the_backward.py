# https://pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

# Instead of having just *one* optimizer, we will have a ``dict`` of optimizers
# for every parameter so we could reference them in our hook.
optimizer_dict = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}


# Define our hook, which will call the optimizer ``step()`` and ``zero_grad()``
def optimizer_hook(parameter) -> None:
    optimizer_dict[parameter].step()
    optimizer_dict[parameter].zero_grad()


# Register the hook onto every parameter
for p in model.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)

before = model[0].weight.detach().clone()


# %%
def train(model):
    # create our fake image input: tensor shape is batch_size, channels, height, width
    fake_image = torch.rand(8, 16)

    # call our forward and backward
    loss = model(fake_image)
    loss = loss.sum()
    loss.backward()
    return loss

    # optimizer update --> no optimizer update!


# %%
for i in range(3):
    loss = train(model)
print(model[0].weight.grad)
