# https://github.com/milesial/Pytorch-UNet/issues/468
import torch
from torch import nn

model = nn.Conv2d(3, 1, 3, padding=1)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-5, momentum=0.9)
grad_scaler = torch.amp.GradScaler("cpu", enabled=True)
criterion = nn.BCEWithLogitsLoss()
gradient_clipping = 1.0
images, true_masks = torch.randn(2, 3, 8, 8), torch.rand(2, 1, 8, 8).round()

# %%
masks_pred = model(images)
loss = criterion(masks_pred, true_masks)
optimizer.zero_grad(set_to_none=True)
grad_scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping)
grad_scaler.step(optimizer)
grad_scaler.update()

# %%
print(model.weight.grad.norm())
