# https://github.com/jingw2/neural-combinatorial-optimization-rl/issues/1
import torch
import torch.nn as nn

pointer, critic = nn.Linear(10, 5), nn.Linear(10, 1)
optimizer = torch.optim.Adam(pointer.parameters(), lr=1e-3)
X = torch.rand(16, 10)
L = torch.rand(16) * 5

# %%
log_p = torch.log_softmax(pointer(X), -1).max(-1).values
b = critic(X)
advantage = L - b.view(-1)
actor_loss = (advantage * log_p).mean()
critic_loss = nn.functional.mse_loss(b.view(-1), L)

# %%
optimizer.zero_grad()
actor_loss.backward()
optimizer.step()
print(critic.weight.grad)
