# https://discuss.pytorch.org/t/custom-loss-function-iou-is-not-differentiable-can-you-create-a-differentiable-iou-loss-function-for-ml/148899
from typing import Optional

import torch
import torch.nn as nn
from torch import Tensor

torch.manual_seed(0)


class IoU(nn.Module):
    """
    1D intersection over union loss function class
    """
    def __init__(self, thresh: float = 0.5):
        super().__init__()
        self.thresh = thresh

    def forward(self, inputs: Tensor, targets: Tensor, weights: Optional[Tensor] = None, smooth: float = 1.0) -> Tensor:
        inputs = torch.where(inputs < self.thresh, 0, 1)
        batch_size = targets.shape[0]

        intersect = torch.logical_and(inputs, targets)
        intersect = intersect.view(batch_size, -1).sum(-1)

        union = torch.logical_or(inputs, targets)
        union = union.view(batch_size, -1).sum(-1)

        IoU = (intersect + smooth) / (union + smooth)
        IoU = IoU.mean()
        return 1 - IoU


# %%
x = torch.randint(0, 1001, (4, 256)).float() / 1000
true = (x > 0.8).long()
model = nn.Linear(256, 256)
criterion = IoU()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

# %%
for epoch in range(5):
    output = model(x)
    loss = criterion(output, true)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss ={loss}")
