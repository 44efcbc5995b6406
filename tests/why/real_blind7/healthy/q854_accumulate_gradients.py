# https://github.com/ptrblck/pytorch_misc/blob/master/accumulate_gradients.py
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(2809)
model = nn.Linear(10, 2)
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=1e-1)
before = model.weight.detach().clone()
accumulation_steps = 4

# %%
for idx in range(8):
    x, y = torch.randn(5, 10), torch.randn(5, 2)
    output = model(x)
    loss = criterion(output, y) / accumulation_steps
    loss.backward()
    if (idx + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        print('step at', idx)
