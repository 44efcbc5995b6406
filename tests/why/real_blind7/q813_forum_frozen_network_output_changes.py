# https://discuss.pytorch.org/t/network-output-changes-even-when-freezed-during-training/36423
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Linear(4, 2)
for p in encoder.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
probe = torch.rand(4, 3, 8, 8)

encoder.eval()
with torch.no_grad():
    out_before = encoder(probe)

# %%
for epoch in range(4):
    encoder.train()
    head.train()
    x, y = torch.rand(8, 3, 8, 8) + 2, torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(head(encoder(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

encoder.eval()
with torch.no_grad():
    out_after = encoder(probe)
print((out_before - out_after).abs().max())
