# https://github.com/shenweichen/DeepCTR-Torch/issues/93
import torch
import torch.nn as nn
import torch.nn.functional as F

device = 'cpu'


class Dice(nn.Module):
    """The Data Adaptive Activation Function in DIN, a generalization of PReLu."""

    def __init__(self, num_features, dim=2, epsilon=1e-9):
        super(Dice, self).__init__()
        assert dim == 2 or dim == 3
        self.bn = nn.BatchNorm1d(num_features, eps=epsilon)
        self.sigmoid = nn.Sigmoid()
        self.dim = dim

        if self.dim == 2:
            self.alpha = torch.zeros((num_features,)).to(device)
        else:
            self.alpha = torch.zeros((num_features, 1)).to(device)

    def forward(self, x):
        assert x.dim() == 2 or x.dim() == 3
        if self.dim == 2:
            x_p = self.sigmoid(self.bn(x))
            out = self.alpha * (1 - x_p) * x + x_p * x
        else:
            x = torch.transpose(x, 1, 2)
            x_p = self.sigmoid(self.bn(x))
            out = self.alpha * (1 - x_p) * x + x_p * x
            out = torch.transpose(out, 1, 2)
        return out


def activation_layer(act_name, hidden_size=None, dice_dim=2):
    if act_name.lower() == 'relu':
        return nn.ReLU(inplace=True)
    elif act_name.lower() == 'dice':
        return Dice(hidden_size, dice_dim)
    elif act_name.lower() == 'prelu':
        return nn.PReLU()
    raise NotImplementedError


# %%
class DNN(nn.Module):
    def __init__(self, inputs_dim, hidden_units, activation='dice', dropout_rate=0.0):
        super(DNN, self).__init__()
        hidden_units = [inputs_dim] + list(hidden_units)
        self.dropout = nn.Dropout(dropout_rate)
        self.linears = nn.ModuleList(
            [nn.Linear(hidden_units[i], hidden_units[i + 1]) for i in range(len(hidden_units) - 1)])
        self.activation_layers = nn.ModuleList(
            [activation_layer(activation, hidden_units[i + 1]) for i in range(len(hidden_units) - 1)])

    def forward(self, inputs):
        deep_input = inputs
        for fc, act in zip(self.linears, self.activation_layers):
            deep_input = self.dropout(act(fc(deep_input)))
        return deep_input


class DIN(nn.Module):
    def __init__(self, vocabulary_size, embedding_dim):
        super(DIN, self).__init__()
        self.embedding = nn.Embedding(vocabulary_size, embedding_dim)
        self.dnn = DNN(2 * embedding_dim, (12, 6))
        self.dnn_linear = nn.Linear(6, 1, bias=False)

    def forward(self, item, history):
        keys = self.embedding(history).mean(dim=1)
        return torch.sigmoid(self.dnn_linear(self.dnn(torch.cat([self.embedding(item), keys], dim=1))))


# %%
model = DIN(30, 4).to(device)
optim = torch.optim.Adagrad(model.parameters(), lr=0.05)
for epoch in range(3):
    item, history = torch.randint(30, (16,)), torch.randint(30, (16, 5))
    y = torch.randint(2, (16, 1)).float()
    optim.zero_grad()
    loss = F.binary_cross_entropy(model(item, history), y)
    loss.backward()
    optim.step()

# %%
print(model.dnn.activation_layers[0].alpha)
