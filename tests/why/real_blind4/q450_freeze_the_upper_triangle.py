# https://discuss.pytorch.org/t/weight-freezing/171255
import torch
import torch.nn as nn

torch.manual_seed(0)

n = 5
model = nn.Linear(n, n)
mask = torch.tril(torch.ones(n, n))
with torch.no_grad():
    model.weight.copy_(model.weight * mask)

# freeze the upper triangular part
model.weight.data[mask == 0].requires_grad = False
model.weight.data[mask == 0] = model.weight.data[mask == 0].detach()

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
true_weight = torch.randn(n, n)

# %%
for epoch in range(5):
    x = torch.randn(32, n)
    y = x @ true_weight.t()
    optimizer.zero_grad()
    y_pred = model(x)
    loss = criterion(y_pred, y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
print(model.weight)
