# https://github.com/khanrc/pt.darts/issues/24
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(2)


class SearchCNN(nn.Module):
    def __init__(self, C=8, n_classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, C, 3, padding=1, bias=False), nn.BatchNorm2d(C))
        self.ops = nn.ModuleList([nn.Conv2d(C, C, 3, padding=1), nn.Conv2d(C, C, 1), nn.AvgPool2d(3, 1, 1)])
        self.alpha = nn.Parameter(1e-3 * torch.randn(len(self.ops)))
        self.linear = nn.Linear(C, n_classes)

    def forward(self, x):
        s = self.stem(x)
        weights = torch.softmax(self.alpha, dim=-1)
        s = torch.relu(sum(w * op(s) for w, op in zip(weights, self.ops)))
        return self.linear(s.mean((2, 3)))


# %%
# our own pictures, read folder by folder
n_train = 80
y = torch.arange(4).repeat_interleave(n_train // 4)
x = torch.randn(n_train, 3, 8, 8) + torch.randn(4, 3, 1, 1)[y]
train_data = TensorDataset(x, y)

# split data to train/validation
split = n_train // 2
indices = list(range(n_train))
train_loader = DataLoader(Subset(train_data, indices[:split]), batch_size=20, shuffle=True)
valid_loader = DataLoader(Subset(train_data, indices[split:]), batch_size=20)

model = SearchCNN()
criterion = nn.CrossEntropyLoss()
w_optim = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=3e-4)

# %%
losses = []
for epoch in range(6):
    model.train()
    for trn_X, trn_y in train_loader:
        w_optim.zero_grad()
        loss = criterion(model(trn_X), trn_y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.)
        w_optim.step()
    model.eval()
    with torch.no_grad():
        logits = torch.cat([model(X) for X, _ in valid_loader])
        target = torch.cat([t for _, t in valid_loader])
        prec1 = (logits.argmax(1) == target).float().mean().item()
    losses.append((loss.item(), criterion(logits, target).item(), prec1))
    print("epoch %d train %.3f valid %.3f Prec@1 %.1f%%" % (epoch, *losses[-1][:2], 100 * prec1))
