# https://stackoverflow.com/questions/63204176
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
loss = nn.CrossEntropyLoss()
opt = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
trainloader = [(torch.rand(8, 1, 8, 8), torch.randint(0, 10, (8,))) for _ in range(6)]

# %%
for epoch in range(5):
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        xs, ys = data
        opt.zero_grad()
        preds = net(xs)
        loss = loss(preds,ys)
        loss.backward()
        opt.step()
        # print statistics
        running_loss += loss.item()
        if i % 1000 == 999:  # print every 1000 mini-batches
            print('[%d, %5d] loss: %.3f' % (epoch + 1, i + 1, running_loss / 2000))
            running_loss = 0.0

    print('epoch {}, loss {}'.format(epoch, loss.item()))
