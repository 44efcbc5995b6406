# https://github.com/IBM/aihwkit/issues/446
import torch
from torch import Tensor
from torch.nn import Linear, Sequential, Sigmoid
from torch.nn.functional import mse_loss
from torch.optim import SGD

torch.manual_seed(0)

# Prepare the datasets (input and expected output).
x = Tensor([[0.1, 0.2, 0.4, 0.3], [0.2, 0.1, 0.1, 0.3]])
y = Tensor([[1.0, 0.5], [0.7, 0.3]])

# %%
# Define a network of three layers.
model = Sequential(
    Linear(4, 3),
    Sigmoid(),
    Linear(3, 3),
    Sigmoid(),
    Linear(3, 2),
)

opt = SGD(model.parameters(), lr=0.1)

losses = []
for epoch in range(10):
    # Add the training Tensor to the model (input).
    pred = model(x)
    # Add the expected output Tensor.
    loss = mse_loss(pred, y)
    # Run training (backward propagation).
    loss.backward()

    opt.step()
    losses.append(loss.item())
    print("Loss error: {:.16f}".format(loss))
