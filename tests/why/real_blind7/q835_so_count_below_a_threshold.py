# https://stackoverflow.com/questions/71409752
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

# %%
for epoch in range(3):
    x = torch.rand(8, 20)
    y = torch.randint(0, 20, (8,)).float()
    pred = model(x)
    # how many are above the threshold that the network predicts
    v = (x > pred).float().sum(1)
    loss = criterion(v, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
