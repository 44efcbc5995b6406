# https://jamesmccaffreyblog.com/2020/10/05/pytorch-multi-class-classification-using-mseloss-and-one-hot-encoded-data/
import torch as T

T.manual_seed(0)
device = T.device("cpu")


def made_up_flowers(per_kind):
    """Rows like 5.0, 3.5, 1.3, 0.3, 0 with an ordinal label."""
    means = T.tensor([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    kinds = T.arange(3).repeat_interleave(per_kind)
    x = means[kinds] + T.randn(3 * per_kind, 4) * T.tensor([0.4, 0.3, 0.3, 0.15])
    return T.cat([x, kinds.float().unsqueeze(1)], dim=1)


class IrisDataset(T.utils.data.Dataset):
    def __init__(self, rows):
        self.x_data = rows[:, 0:4].to(device)
        # convert ordinal label to one-hot vector
        self.y_data = T.zeros(len(rows), 3)
        for i, kind in enumerate(rows[:, 4].long().tolist()):
            self.y_data[i][kind] = 1.0
        self.y_data = self.y_data.to(device)

    def __len__(self):
        return len(self.x_data)

    def __getitem__(self, idx):
        return {'predictors': self.x_data[idx], 'species': self.y_data[idx]}


class Net(T.nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.hid1 = T.nn.Linear(4, 7)  # 4-7-3
        self.oupt = T.nn.Linear(7, 3)
        T.nn.init.xavier_uniform_(self.hid1.weight)
        T.nn.init.zeros_(self.hid1.bias)
        T.nn.init.xavier_uniform_(self.oupt.weight)
        T.nn.init.zeros_(self.oupt.bias)

    def forward(self, x):
        z = T.tanh(self.hid1(x))
        return T.softmax(self.oupt(z), dim=1)


def accuracy(model, dataset):
    n_correct = 0
    for i in range(len(dataset)):
        item = dataset[i]
        with T.no_grad():
            oupt = model(item['predictors'].unsqueeze(0))
        n_correct += int(oupt.argmax() == item['species'].argmax())
    return n_correct / len(dataset)


# %%
train_ds, test_ds = IrisDataset(made_up_flowers(40)), IrisDataset(made_up_flowers(10))
train_ldr = T.utils.data.DataLoader(train_ds, batch_size=4, shuffle=True)
net = Net().to(device)
max_epochs, lrn_rate = 40, 0.05
loss_func = T.nn.MSELoss()
optimizer = T.optim.SGD(net.parameters(), lr=lrn_rate)

# %%
net.train()
epoch_losses = []
for epoch in range(max_epochs):
    epoch_loss = 0.0
    for batch_idx, batch in enumerate(train_ldr):
        X = batch['predictors']
        Y = batch['species']
        optimizer.zero_grad()
        oupt = net(X)
        loss_val = loss_func(oupt, Y)
        epoch_loss += loss_val.item()
        loss_val.backward()
        optimizer.step()
    epoch_losses.append(epoch_loss)
    if epoch % 10 == 0:
        print("epoch = %4d   loss = %0.4f" % (epoch, epoch_loss))

# %%
net.eval()
acc = accuracy(net, test_ds)
print("Accuracy on test data = %0.4f" % acc)
assert acc > 0.85 and epoch_losses[-1] < 0.4 * epoch_losses[0]
