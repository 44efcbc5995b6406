# https://github.com/xingyizhou/CenterNet/issues/928
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
batches = []
for _ in range(8):
    image = torch.randn(4, 3, 12, 12)
    batches.append({'input': image, 'hm': torch.stack([image[:, 0] + image[:, 1], image[:, 2]], 1)})
losses = []

# %%
for epoch in range(6):
    for iter_id, batch in enumerate(batches):
        output = model(batch['input'])
        loss = ((output - batch['hm']) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(epoch, losses[-1])
