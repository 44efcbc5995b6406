# https://github.com/PureWY/DeepLearning/blob/master/code-with-book/test_03.py
import torch
from torch import nn

torch.manual_seed(0)


def make_features(x):
    x = x.unsqueeze(1)
    return torch.cat([x ** i for i in range(1, 4)], 1)


W_target = torch.FloatTensor([0.5, 3, 2.4]).unsqueeze(1)
b_target = torch.FloatTensor([0.9])


def f(x):
    return x.mm(W_target) + b_target[0]


def get_batch(batch_size=32):
    random = torch.randn(batch_size)
    x = make_features(random)
    y = f(x)
    return torch.autograd.Variable(x), torch.autograd.Variable(y)


class poly_model(nn.Module):
    def __init__(self):
        super(poly_model, self).__init__()
        self.poly = nn.Linear(3, 1)

    def forward(self, x):
        out = self.poly(x)
        return out


# %%
model = poly_model()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

# %%
epoch = 0
while True:
    batch_x, batch_y = get_batch()
    output = model(batch_x)
    loss = criterion(output, batch_y)
    print_loss = loss.item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    epoch += 1
    if print_loss < 1e-3:
        break

# %%
weights = model.poly.weight.data.squeeze().tolist()
print('Loss: {:.6f} after {} batches'.format(print_loss, epoch))
print('y = {:.2f} + {:.2f} * x + {:.2f} * x^2 + {:.2f} * x^3'.format(model.poly.bias.item(), *weights))
distance = (model.poly.weight.data - W_target.t()).abs().max().item()
assert distance < 0.2
