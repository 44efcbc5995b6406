# https://github.com/ML4SCI/DeepLense/pull/168
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=10)
images, labels = torch.randn(32, 6), torch.randint(3, (32,))
rates = []
for epoch in range(8):
    optimizer.zero_grad()
    outputs = model(images)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
    scheduler.step(loss)
    rates.append(float(optimizer.param_groups[0]["lr"]))
    print(epoch, float(loss), rates[-1])
