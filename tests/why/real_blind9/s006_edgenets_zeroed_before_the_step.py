# https://github.com/sacmehta/EdgeNets/issues/14
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.PReLU(8), nn.Conv2d(8, 4, 1))
criterion = nn.CrossEntropyLoss(ignore_index=255)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
data_loader = [(torch.randn(4, 3, 16, 16), torch.randint(0, 4, (4, 16, 16))) for _ in range(6)]
before = model[0].weight.detach().clone()


# %%
def train_seg(model, dataset_loader, optimizer, criterion, device='cpu'):
    losses = []
    model.train()
    for i, (inputs, target) in enumerate(dataset_loader):
        inputs = inputs.to(device=device)
        target = target.to(device=device)

        outputs = model(inputs)

        loss = criterion(outputs, target).mean()

        losses.append(loss.item())

        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
    return loss, sum(losses) / len(losses)


# %%
for epoch in range(3):
    loss, average = train_seg(model, data_loader, optimizer, criterion)
    print(epoch, average)
