# https://github.com/zhuangdizhu/FedGen/issues/15
import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


class Net(nn.Module):
    def __init__(self, input_dim=20, hidden_dim=32, output_dim=5):
        super(Net, self).__init__()
        self.layers = nn.Sequential(nn.Linear(input_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, output_dim))

    def forward(self, x):
        return {'output': torch.log_softmax(self.layers(x), dim=1)}


class User:
    """
    Base class for users in federated learning.
    """
    def __init__(self, args, id, model, train_data, test_data):
        self.model = copy.deepcopy(model)
        self.id = id
        self.train_samples = len(train_data)
        self.test_samples = len(test_data)
        self.local_epochs = args['local_epochs']
        self.trainloader = DataLoader(train_data, args['batch_size'], shuffle=True, drop_last=True)
        self.testloaderfull = DataLoader(test_data, self.test_samples)
        self.loss = nn.NLLLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args['learning_rate'])

    def set_parameters(self, model):
        for old_param, new_param in zip(self.model.parameters(), model.parameters()):
            old_param.data = new_param.data.clone()

    def train(self):
        self.model.train()
        for epoch in range(self.local_epochs):
            for X, y in self.trainloader:
                self.optimizer.zero_grad()
                output = self.model(X)['output']
                loss = self.loss(output, y)
                loss.backward()
                self.optimizer.step()

    def test(self):
        self.model.eval()
        test_acc = 0
        loss = 0
        for x, y in self.testloaderfull:
            output = self.model(x)['output']
            loss += self.loss(output, y)
            test_acc += (torch.sum(torch.argmax(output, dim=1) == y)).item()
        return test_acc, loss, y.shape[0]


class Server:
    def __init__(self, args, model):
        self.num_glob_iters = args['num_glob_iters']
        self.num_users = args['num_users']
        self.model = copy.deepcopy(model)
        self.users = []
        self.selected_users = []
        self.metrics = {'glob_acc': [], 'glob_loss': []}

    def send_parameters(self):
        for user in self.users:
            user.set_parameters(self.model)

    def aggregate_parameters(self):
        for param in self.model.parameters():
            param.data = torch.zeros_like(param.data)
        total_train = sum(user.train_samples for user in self.selected_users)
        for user in self.selected_users:
            for server_param, user_param in zip(self.model.parameters(), user.model.parameters()):
                server_param.data = server_param.data + user_param.data.clone() * user.train_samples / total_train

    def test(self):
        num_samples, tot_correct, losses = [], [], []
        for c in self.users:
            ct, c_loss, ns = c.test()
            tot_correct.append(ct * 1.0)
            num_samples.append(ns)
            losses.append(c_loss)
        ids = [c.id for c in self.users]
        return ids, num_samples, tot_correct, losses

    def evaluate(self, save=True):
        test_ids, test_samples, test_accs, test_losses = self.test()
        glob_acc = np.sum(test_accs) * 1.0 / np.sum(test_samples)
        glob_loss = np.sum([x * y for (x, y) in zip(test_samples, test_losses)]).item() / np.sum(test_samples)
        if save:
            self.metrics['glob_acc'].append(glob_acc)
            self.metrics['glob_loss'].append(glob_loss)
        print("Average Global Accurancy = {:.4f}, Loss = {:.2f}.".format(glob_acc, glob_loss))

    def train(self):
        for glob_iter in range(self.num_glob_iters):
            self.selected_users = [self.users[i] for i in np.random.choice(len(self.users), self.num_users, replace=False)]
            self.send_parameters()
            self.evaluate()
            for user in self.selected_users:
                user.train()
            self.aggregate_parameters()


# %%
def federated_data(n):
    x = torch.randn(n, 20)
    return TensorDataset(x, x[:, :5].argmax(dim=1))


args = {'num_glob_iters': 3, 'num_users': 3, 'local_epochs': 2, 'batch_size': 16, 'learning_rate': 0.05}
model = Net()
server = Server(args, model)
server.users = [User(args, i, model, federated_data(48 + 16 * i), federated_data(20 + 5 * i)) for i in range(5)]

# %%
server.train()
