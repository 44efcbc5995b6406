# https://stackoverflow.com/questions/64780471
import torch
import torch.nn as nn

torch.manual_seed(0)


def custom_loss(output, target):
    total = 0.0
    for o, t in zip(output, target):
        diff = (t - o).item()
        total += 2 * diff if diff > 0 else -diff
    return total / len(output)


model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = custom_loss
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

# %%
for epoch in range(3):
    inputs, labels = torch.randn(16, 6), torch.randn(16, 1)
    optimizer.zero_grad()
    outputs = model(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
