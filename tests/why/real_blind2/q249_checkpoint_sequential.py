# https://github.com/pytorch/pytorch/issues/42812
import torch
from torch import nn, optim
from torch.utils.checkpoint import checkpoint_sequential

torch.manual_seed(42)
input = torch.randn(1, 10)
label = torch.randn(1, 1)
model = nn.Sequential(*[nn.Linear(10, 10), nn.Linear(10, 1)])
optimizer = optim.Adam(model.parameters())
weights_beforeTraining = list(model[0].parameters())[0][0].clone().detach().numpy()
print(weights_beforeTraining)

# %%
for epoch in range(5):
    optimizer.zero_grad()
    out = checkpoint_sequential(model, 2, input, use_reentrant=True)
    # out = model(input)  # bp works if I disable checkpointing or set input.requires_grad=True
    criterion = nn.MSELoss()
    loss = criterion(out, label)
    loss.backward()   # Backprop
    optimizer.step()  # update Weights
    print(epoch, loss.item())

# %%
weights_afterTraining = list(model[0].parameters())[0][0].clone().detach().numpy()
print(weights_afterTraining)
print(sum(weights_beforeTraining != weights_afterTraining))  # 0, weights have not changed!
