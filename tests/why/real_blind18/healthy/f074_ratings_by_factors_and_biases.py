# https://github.com/EthanRosenthal/torchmf/blob/master/torchmf.py
import collections
import torch
from torch import nn
import torch.utils.data as data
from torch.autograd import Variable

torch.manual_seed(0)


class Interactions(data.Dataset):
    def __init__(self, mat):
        self.mat = mat.coalesce()
        self.n_users = self.mat.shape[0]
        self.n_items = self.mat.shape[1]

    def __getitem__(self, index):
        row, col = self.mat.indices()[:, index]
        return (row, col), self.mat.values()[index]

    def __len__(self):
        return self.mat._nnz()


class BaseModule(nn.Module):
    def __init__(self, n_users, n_items, n_factors=40, dropout_p=0, loss_function=nn.MSELoss(reduction='sum'), sparse=False):
        super(BaseModule, self).__init__()
        self.n_users = n_users
        self.n_items = n_items
        self.user_biases = nn.Embedding(n_users, 1, sparse=sparse)
        self.item_biases = nn.Embedding(n_items, 1, sparse=sparse)
        self.user_embeddings = nn.Embedding(n_users, n_factors, sparse=sparse)
        self.item_embeddings = nn.Embedding(n_items, n_factors, sparse=sparse)
        self.dropout_p = dropout_p
        self.dropout = nn.Dropout(p=self.dropout_p)
        self.loss_function = loss_function

    def forward(self, users, items):
        ues = self.user_embeddings(users)
        uis = self.item_embeddings(items)
        preds = self.user_biases(users)
        preds += self.item_biases(items)
        preds += (self.dropout(ues) * self.dropout(uis)).sum(1, keepdim=True)
        return preds.squeeze(1)

    def __call__(self, *args):
        return self.forward(*args)


class BasePipeline:
    def __init__(self, train, test, model=BaseModule, n_factors=40, batch_size=32, dropout_p=0.02, lr=0.01,
                 weight_decay=0., optimizer=torch.optim.Adam, n_epochs=10):
        self.train, self.test, self.n_epochs = train, test, n_epochs
        self.train_loader = data.DataLoader(Interactions(train), batch_size=batch_size, shuffle=True)
        self.test_loader = data.DataLoader(Interactions(test), batch_size=batch_size)
        self.model = model(train.shape[0], train.shape[1], n_factors=n_factors, dropout_p=dropout_p)
        self.optimizer = optimizer(self.model.parameters(), lr=lr, weight_decay=weight_decay)
        self.losses = collections.defaultdict(list)

    def fit(self):
        for epoch in range(1, self.n_epochs + 1):
            self.losses['train'].append(self._fit_epoch())
            self.losses['test'].append(self._validation_loss())
            print('Epoch: {0:^3}  train: {1:^10.5f}  val: {2:^10.5f}'.format(epoch, self.losses['train'][-1], self.losses['test'][-1]))

    def _fit_epoch(self):
        self.model.train()
        total_loss = torch.Tensor([0])
        for batch_idx, ((row, col), val) in enumerate(self.train_loader):
            self.optimizer.zero_grad()
            row, col, val = Variable(row.long()), Variable(col.long()), Variable(val).float()
            preds = self.model(row, col)
            loss = self.model.loss_function(preds, val)
            loss.backward()
            self.optimizer.step()
            total_loss += loss.data
        return (total_loss / self.train._nnz())[0].item()

    def _validation_loss(self):
        self.model.eval()
        total_loss = torch.Tensor([0])
        for batch_idx, ((row, col), val) in enumerate(self.test_loader):
            preds = self.model(row.long(), col.long())
            total_loss += self.model.loss_function(preds, val.float()).data
        return (total_loss / self.test._nnz())[0].item()


# %%
tastes = torch.randn(60, 2) @ torch.randn(2, 40) + 0.5 * torch.randn(60, 1) + 0.5 * torch.randn(1, 40) + 3
seen = torch.rand(60, 40)
train, test = ((tastes * mask).to_sparse() for mask in ((seen < 0.7).float(), (seen > 0.8).float()))
pipeline = BasePipeline(train, test, n_factors=4, batch_size=128, lr=0.05, n_epochs=15)

# %%
pipeline.fit()

# %%
spread = test.coalesce().values().var().item()
print(pipeline.losses['train'][0], pipeline.losses['test'][-1], spread)
assert pipeline.losses['test'][-1] < 0.3 * spread
