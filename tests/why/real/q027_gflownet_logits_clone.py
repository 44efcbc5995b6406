# https://github.com/alexhernandezgarcia/gflownet/pull/251
import torch
import torch.nn as nn

policy = nn.Linear(4, 3)
logZ = nn.Parameter(torch.zeros(1))
opt = torch.optim.Adam([*policy.parameters(), logZ], lr=1e-2)
states, actions = torch.randn(6, 4), torch.randint(3, (6,))
mask = torch.zeros(6, 3, dtype=torch.bool)
log_reward = torch.tensor(1.5)


# %%
def get_logprobs(policy_outputs, actions, mask):
    logits = policy_outputs.clone().detach()
    logits[mask] = -1000.0
    return torch.log_softmax(logits, dim=1)[torch.arange(len(actions)), actions]


# %%
logprobs = get_logprobs(policy(states), actions, mask)
loss = (logZ + logprobs.sum() - log_reward).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()

# %%
for name, p in policy.named_parameters():
    print(name, p.grad)
