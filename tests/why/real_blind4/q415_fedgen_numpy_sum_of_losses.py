# https://github.com/zhuangdizhu/FedGen/issues/1
import copy

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(20, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return {'output': nn.functional.log_softmax(self.fc2(x), dim=1)}


class User:
    def __init__(self, id, model, train_data, test_data, learning_rate=0.01):
        self.id = id
        self.model = copy.deepcopy(model)
        self.trainloader, self.testloaderfull = [train_data], [test_data]
        self.train_samples, self.test_samples = len(train_data[0]), len(test_data[0])
        self.loss = nn.NLLLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=learning_rate)

    def set_parameters(self, model):
        for old_param, new_param in zip(self.model.parameters(), model.parameters()):
            old_param.data = new_param.data.clone()

    def train(self, local_epochs=2):
        self.model.train()
        for epoch in range(local_epochs):
            for x, y in self.trainloader:
                self.optimizer.zero_grad()
                loss = self.loss(self.model(x)['output'], y)
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
    def __init__(self, model, users):
        self.model = copy.deepcopy(model)
        self.users = users
        self.metrics = {'glob_acc': [], 'glob_loss': []}

    def send_parameters(self):
        for user in self.users:
            user.set_parameters(self.model)

    def aggregate_parameters(self):
        total_train = sum(user.train_samples for user in self.users)
        for param in self.model.parameters():
            param.data = torch.zeros_like(param.data)
        for user in self.users:
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

    def evaluate(self):
        test_ids, test_samples, test_accs, test_losses = self.test()
        glob_acc = np.sum(test_accs) * 1.0 / np.sum(test_samples)
        glob_loss = np.sum([x * y for (x, y) in zip(test_samples, test_losses)]).item() / np.sum(test_samples)
        self.metrics['glob_acc'].append(glob_acc)
        self.metrics['glob_loss'].append(glob_loss)
        print("Average Global Accurancy = {:.4f}, Loss = {:.2f}.".format(glob_acc, glob_loss))

    def train(self, num_glob_iters):
        for glob_iter in range(num_glob_iters):
            print("-------------Round number: ", glob_iter, " -------------")
            self.send_parameters()
            self.evaluate()
            for user in self.users:
                user.train()
            self.aggregate_parameters()


# %%
def make_data(n):
    return torch.randn(n, 20), torch.randint(10, (n,))


model = Net()
server = Server(model, [User(i, model, make_data(30), make_data(10 + 5 * i)) for i in range(2)])
server.train(3)
