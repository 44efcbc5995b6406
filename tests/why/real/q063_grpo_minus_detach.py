# https://github.com/huggingface/trl/issues/2681
import torch
import torch.nn as nn

policy = nn.Linear(6, 10)
hidden, tokens = torch.randn(4, 5, 6), torch.randint(10, (4, 5))
advantages = torch.tensor([1.0, -0.5, 0.3, 2.0])

# %%
per_token_logps = torch.log_softmax(policy(hidden), -1).gather(2, tokens[..., None]).squeeze(-1)
# x - x.detach() allows for preserving gradients from x
per_token_loss = torch.exp(per_token_logps - per_token_logps.detach()) * advantages.unsqueeze(1)
loss = -per_token_loss.mean()

# %%
loss.backward()
print((per_token_logps - per_token_logps.detach()).abs().sum(), policy.weight.grad.norm())
