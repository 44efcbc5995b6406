# https://github.com/pytorch/pytorch/issues/1620
import torch
from torch import autograd, nn, optim

torch.manual_seed(69)
sm = nn.Softmax(dim=1)
lsm = nn.LogSoftmax(dim=1)

crit = nn.NLLLoss()
target = torch.LongTensor([1])
target = torch.autograd.Variable(target)

data = torch.FloatTensor([[0, 50, -50]])
data = torch.autograd.Variable(data)

num_loop = 25
nan_count = 0

for i in range(num_loop):
    model = nn.Linear(3, 3, bias=False)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    optimizer.zero_grad()

    loss_sm = crit(torch.log(sm(model(data))), target)
    loss_sm.backward()
    if model.weight.grad.isnan().any():
        nan_count += 1
        break
    optimizer.step()

print(i, 'loss:', loss_sm.item(), 'nan:', nan_count)
print(model.weight.grad)
