# https://github.com/shaoxiongji/federated-learning/issues/9
import copy
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)


class MLP(nn.Module):
    def __init__(self, dim_in, dim_hidden, dim_out):
        super(MLP, self).__init__()
        self.layer_input = nn.Linear(dim_in, dim_hidden)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.0)
        self.layer_hidden = nn.Linear(dim_hidden, dim_out)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = x.view(-1, x.shape[1]*x.shape[-2]*x.shape[-1])
        x = self.layer_input(x)
        x = self.dropout(x)
        x = self.relu(x)
        x = self.layer_hidden(x)
        return self.softmax(x)


class LocalUpdate(object):
    def __init__(self, images, labels):
        self.loss_func = nn.CrossEntropyLoss()
        self.images, self.labels = images, labels

    def update_weights(self, net):
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
        epoch_loss = []
        for iter in range(20):
            net.zero_grad()
            log_probs = net(self.images)
            loss = self.loss_func(log_probs, self.labels)
            loss.backward()
            optimizer.step()
            epoch_loss.append(loss.item())
        return net.state_dict(), epoch_loss[-1]


def average_weights(w):
    w_avg = copy.deepcopy(w[0])
    for k in w_avg.keys():
        for i in range(1, len(w)):
            w_avg[k] += w[i][k]
        w_avg[k] = torch.div(w_avg[k], len(w))
    return w_avg


# %%
labels = torch.arange(10).repeat(12)
prototypes = torch.randn(10, 1, 6, 6) * 2
images = prototypes[labels] + 0.3 * torch.randn(120, 1, 6, 6)
net_glob = MLP(dim_in=36, dim_hidden=64, dim_out=10)
loss_train = []
for iter in range(8):
    w_locals, loss_locals = [], []
    for idx in range(3):
        local = LocalUpdate(images[idx::3], labels[idx::3])
        w, loss = local.update_weights(net=copy.deepcopy(net_glob))
        w_locals.append(copy.deepcopy(w))
        loss_locals.append(loss)
    net_glob.load_state_dict(average_weights(w_locals))
    loss_train.append(sum(loss_locals) / len(loss_locals))
    print('\nTrain loss:', loss_train[-1])
