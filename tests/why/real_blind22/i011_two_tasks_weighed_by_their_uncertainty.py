# https://github.com/Mikoto10032/AutomaticWeightedLoss/issues/9
import torch
import torch.nn as nn
from torch import optim

torch.manual_seed(0)


class AutomaticWeightedLoss(nn.Module):
    """automatically weighted multi-task loss

    Params：
        num: int，the number of loss
        x: multi-task loss
    Examples：
        loss1=1
        loss2=2
        awl = AutomaticWeightedLoss(2)
        loss_sum = awl(loss1, loss2)
    """
    def __init__(self, num=2):
        super(AutomaticWeightedLoss, self).__init__()
        params = torch.ones(num, requires_grad=True)
        self.params = torch.nn.Parameter(params)

    def forward(self, *x):
        loss_sum = 0
        for i, loss in enumerate(x):
            loss_sum += 0.5 / (self.params[i] ** 2) * loss + torch.log(1 + self.params[i] ** 2)
        return loss_sum


class Model(nn.Module):
    def __init__(self, features=10, hidden=32, classes_1=4, classes_2=2):
        super(Model, self).__init__()
        self.shared = nn.Sequential(nn.Linear(features, hidden), nn.BatchNorm1d(hidden), nn.ReLU())
        self.head_1 = nn.Linear(hidden, classes_1)
        self.head_2 = nn.Linear(hidden, classes_2)

    def forward(self, x):
        x = self.shared(x)
        return self.head_1(x), self.head_2(x)


# %%
data = torch.randn(256, 10)
label_1 = data[:, :4].argmax(1)
label_2 = (data[:, 4] + 0.5 * torch.randn(256) > 0).long()

model = Model()
awl = AutomaticWeightedLoss(2)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-4)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

# %%
history = []
for epoch in range(10):
    model.train()
    for index in torch.randperm(256).split(32):
        out_1, out_2 = model(data[index])
        loss_1 = criterion(out_1, label_1[index])
        loss_2 = criterion(out_2, label_2[index])
        loss_sum = awl(loss_1, loss_2)
        optimizer.zero_grad()
        loss_sum.backward()
        optimizer.step()
    scheduler.step()
    history.append(awl.params.detach().clone())
    print(epoch, loss_1.item(), loss_2.item(), awl.params.tolist())
