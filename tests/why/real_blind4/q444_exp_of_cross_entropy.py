# https://whosebug.com/question/6301115/Weird-behaviour-of-loss-function-in-pytorch
import torch
import torch.nn as nn

torch.manual_seed(0)

client_model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(client_model.parameters(), lr=0.05)
centres = torch.randn(4, 10)


def batch(n=16, far=1.0):
    target = torch.randint(4, (n,))
    return far * (centres[target] + 0.2 * torch.randn(n, 10)), target


train_loader = [batch() for _ in range(6)]
train_loader.append((-500 * train_loader[0][0], train_loader[0][1]))
epoch = 2

# %%
e_loss = []
eta = 2  # just an example of value of eta I'm using
criterion = nn.CrossEntropyLoss()
for e in range(epoch):
    train_loss = 0
    for batch_idx, (data, target) in enumerate(train_loader):
        client_model.train()
        optimizer.zero_grad()
        output = client_model(data)
        loss = torch.exp(criterion(output, target)/eta)  # this is the line where I input my custom loss function
        loss.backward()
        optimizer.step()
        train_loss += loss.item()*data.size(0)
    train_loss = train_loss/len(train_loader)  # average losses
    e_loss.append(train_loss)
print(e_loss)
