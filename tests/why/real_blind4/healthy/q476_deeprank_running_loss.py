# https://github.com/DeepRank/deeprank/issues/210
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
np.random.seed(0)


class CNN3D(nn.Module):
    def __init__(self, channels=2):
        super().__init__()
        self.convlayer_000 = nn.Conv3d(channels, 4, kernel_size=2)
        self.convlayer_001 = nn.MaxPool3d((2, 2, 2))
        self.fclayer_000 = nn.Linear(4 * 8, 8)
        self.fclayer_001 = nn.Linear(8, 1)

    def forward(self, x):
        x = self.convlayer_001(torch.relu(self.convlayer_000(x)))
        x = x.view(x.size(0), -1)
        return self.fclayer_001(torch.relu(self.fclayer_000(x)))


class NeuralNet:
    def __init__(self, model, task='reg'):
        self.net = model()
        self.task = task
        self.criterion = nn.MSELoss(reduction='sum')
        self.optimizer = optim.SGD(self.net.parameters(), lr=0.005, momentum=0.9, weight_decay=0.001)
        self.losses = {'train': [], 'valid': []}

    def train(self, loaders, nepoch=3):
        for epoch in range(nepoch):
            for key in ('train', 'valid'):
                loss, data = self._epoch(loaders[key], train_model=key == 'train')
                self.losses[key].append(loss)
            print(epoch, {k: v[-1] for k, v in self.losses.items()})

    def _epoch(self, data_loader, train_model):
        global running_loss
        running_loss = 0
        data = {'outputs': [], 'targets': []}
        n = 0
        # set train/eval mode
        self.net.train(mode=train_model)
        torch.set_grad_enabled(train_model)
        for inputs, targets in data_loader:
            # forward
            outputs = self.net(inputs)
            # evaluate loss
            loss = self.criterion(outputs, targets.view(-1, 1))
            running_loss += loss.data.item()  # pytorch1 compatible
            n += len(inputs)
            # backpropagate
            if train_model:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            # get the outputs for export
            data['outputs'] += outputs.data.numpy()[:, 0].tolist()
            data['targets'] += targets.data.numpy().tolist()
        torch.set_grad_enabled(True)
        return running_loss / n, data


# %%
def loader(n):
    return [(torch.rand(4, 2, 5, 5, 5), torch.rand(4)) for _ in range(n)]


net = NeuralNet(CNN3D)
net.train({'train': loader(3), 'valid': loader(1)})
