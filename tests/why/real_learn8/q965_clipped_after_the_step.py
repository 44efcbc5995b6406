# https://github.com/jongwook/onsets-and-frames/issues/24
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
clip_gradient_norm = 3
model = nn.Linear(5, 2)
start = model.weight.detach().clone()
optimizer = torch.optim.SGD(model.parameters(), 0.05)
scheduler = StepLR(optimizer, step_size=100, gamma=0.98)
batches = [(10 * torch.randn(8, 5), 50 * torch.randn(8, 2)) for _ in range(2)]
for audio, label in batches:
    predictions = model(audio)
    loss = ((predictions - label) ** 2).mean()

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()

    if clip_gradient_norm:
        clip_grad_norm_(model.parameters(), clip_gradient_norm)
    print(loss.item())
moved = float((model.weight - start).norm())
