# https://github.com/tientrandinh/Revisiting-Reverse-Distillation/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

accumulation_steps = 2
encoder = nn.Conv2d(3, 8, 3, padding=1).requires_grad_(False).eval()
proj_layer = nn.Conv2d(8, 8, 1)
decoder = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
optimizer_proj = torch.optim.SGD(proj_layer.parameters(), lr=0.1)
optimizer_distill = torch.optim.SGD(decoder.parameters(), lr=0.1)
train_loader = [torch.rand(2, 3, 8, 8) for _ in range(4)]

# %%
for i, img in enumerate(train_loader):
    inputs = encoder(img)
    feature_space = proj_layer(inputs)
    outputs = decoder(feature_space)
    L_distill = (1 - F.cosine_similarity(inputs, outputs)).mean()
    L_proj = F.mse_loss(feature_space, inputs)
    loss = L_distill + 0.2 * L_proj
    w_before = decoder[2].bias.detach().clone()
    optimizer_proj.zero_grad()
    optimizer_distill.zero_grad()
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer_proj.step()
        optimizer_distill.step()
    print(loss.item())
