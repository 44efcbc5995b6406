# https://stackoverflow.com/questions/63020101
import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.rand(64, 4) * 3
y = torch.floor(x.sum(1, keepdim=True))

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

# %%
for epoch in range(20):
    # the target is a count, so the prediction must be a whole number, too
    pred = torch.floor(model(x))
    loss = criterion(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
