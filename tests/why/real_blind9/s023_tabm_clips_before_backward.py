# https://github.com/yandex-research/tabm/issues/20
import torch
from torch import nn

torch.manual_seed(0)
X_train = torch.randn(128, 10)
Y_train = 50 * X_train[:, :1] + 30
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
loss_fn = nn.functional.mse_loss
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=3e-4)
gradient_clipping_norm = 1.0
train_size, batch_size = 128, 32

# %%
for epoch in range(3):
    for batch_idx in torch.randperm(train_size).split(batch_size):
        model.train()
        optimizer.zero_grad()
        loss = loss_fn(model(X_train[batch_idx]), Y_train[batch_idx])
        if gradient_clipping_norm is not None:
            torch.nn.utils.clip_grad.clip_grad_norm_(
                model.parameters(), gradient_clipping_norm
            )
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
