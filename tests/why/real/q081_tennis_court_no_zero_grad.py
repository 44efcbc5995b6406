# https://github.com/yastrebksv/TennisCourtDetector/issues/7
import torch
import torch.nn as nn

model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 15, 3, padding=1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, betas=(0.9, 0.999), weight_decay=0)
criterion = nn.MSELoss()
batch = torch.randn(2, 3, 8, 8), torch.zeros(2, 15, 8, 8), None, None

# %%
norms = []
for iter_id in range(4):
    out = model(batch[0].float())
    gt_hm_hp = batch[1].float()
    loss = criterion(torch.sigmoid(out), gt_hm_hp)

    loss.backward()
    optimizer.step()
    norms.append(model[0].weight.grad.norm().item())

# %%
print(norms)
