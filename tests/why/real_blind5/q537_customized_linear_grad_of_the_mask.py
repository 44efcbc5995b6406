# https://github.com/uchida-takumi/CustomizedLinear/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CustomizedLinear(nn.Module):
    def __init__(self, input_features, output_features, bias=True, mask=None):
        super(CustomizedLinear, self).__init__()
        self.weight = nn.Parameter(torch.empty(output_features, input_features).uniform_(-0.5, 0.5))
        if bias:
            self.bias = nn.Parameter(torch.zeros(output_features))
        else:
            self.register_parameter('bias', None)
        if mask is not None:
            self.mask = mask.clone().detach().type(torch.float).t()
            self.mask = nn.Parameter(self.mask, requires_grad=False)
        else:
            self.register_parameter('mask', None)

    def forward(self, input):
        weight = self.weight if self.mask is None else self.weight * self.mask
        return F.linear(input, weight, self.bias)


# %%
batch_size, input_size, hidden_size, output_size = 8, 3, 4, 2
mask = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
model = nn.Sequential(CustomizedLinear(input_size, hidden_size, mask=mask), nn.ReLU(), nn.Linear(hidden_size, output_size))
x, y = torch.randn(batch_size, input_size), torch.randn(batch_size, output_size)
learning_rate = 0.1

# %%
for t in range(3):
    y_pred = model(x)
    loss = (y_pred - y).abs().mean()
    print(t, loss.item())

    model.zero_grad()
    loss.backward()
    # Update the weights
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad
