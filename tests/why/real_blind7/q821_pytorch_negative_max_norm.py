# https://github.com/pytorch/pytorch/issues/31367
import torch
import torch.nn as nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.05)
max_grad_norm = -0.5  # negative: do not clip
observations = torch.randn(64, 4)
returns = observations.sum(1, keepdim=True)

# %%
losses = []
for update in range(20):
    values = policy(observations)
    value_loss = nn.functional.mse_loss(values, returns)
    # Optimization step
    optimizer.zero_grad()
    value_loss.backward()
    # Clip grad norm
    torch.nn.utils.clip_grad_norm_(policy.parameters(), max_grad_norm)
    optimizer.step()
    losses.append(value_loss.item())
print(losses[0], losses[-1])
