# https://discuss.pytorch.org/t/trying-to-understand-why-output-of-nn-linear-for-output-layer-isnt-retaining/40116
import torch
import torch.nn as nn

torch.manual_seed(0)
if torch.cuda.is_available():
    device = torch.device('cpu')
device = torch.device('cpu')
type = torch.float
args = {'device': device, 'dtype': type}


class SingleRNN(nn.Module):
    def __init__(self, n_inputs, n_outputsize):
        super(SingleRNN, self).__init__()

        numHU = 2
        bias = False

        self.Wxh = nn.Linear(
            in_features=n_inputs, out_features=numHU , bias=bias)

        self.Whh = nn.Linear(
            in_features=numHU + self.Wxh.out_features, out_features=numHU , bias=bias)

        self.Why = nn.Linear(
            in_features=numHU , out_features=n_outputsize, bias=bias)

    def forward(self, X0, H0):
        self.L0_X= self.Wxh(X0)
        self.L1_H = self.Whh(torch.cat((self.L0_X, H0), dim=1))
        self.L2_Y = self.Why(self.L1_H)
        return self.L2_Y, self.L1_H


# %%
X = torch.randn(4, 3, **args)
H = torch.zeros(4, 2, **args)
Y = torch.randn(4, 1, **args)
model = SingleRNN(3, 1)

output, hidden = model(X, H)
loss = ((output - Y) ** 2).sum()
loss.backward()

print(model.Why.weight.grad)
print(model.L2_Y.grad)
