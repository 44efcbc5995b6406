# https://github.com/PRIME-RL/Entropy-Mechanism-of-RL/issues/9
import torch
import torch.nn as nn

policy = nn.Linear(5, 7)
x, tokens = torch.randn(12, 5), torch.randint(7, (12,))
advantages = torch.randn(12)
old_log_prob = torch.log_softmax(policy(x), -1)[torch.arange(12), tokens].detach()


# %%
def compute_policy_loss_clip_cov(log_prob, for_cov):
    ratio = torch.exp(log_prob - old_log_prob)
    pg_losses1 = -advantages * ratio
    cov_all = (advantages - advantages.mean()) * (for_cov - log_prob.detach().mean())
    corr = torch.ones_like(advantages)
    top = torch.nonzero(cov_all > cov_all.median())[:2].squeeze(-1)
    corr[top] = 0
    return (pg_losses1 * corr).mean()


# %%
log_prob = torch.log_softmax(policy(x), -1)[torch.arange(12), tokens]
pg_loss = compute_policy_loss_clip_cov(log_prob, log_prob.detach())
pg_loss.backward()
with_detach = policy.weight.grad.clone()
policy.zero_grad()
log_prob = torch.log_softmax(policy(x), -1)[torch.arange(12), tokens]
pg_loss = compute_policy_loss_clip_cov(log_prob, log_prob)
pg_loss.backward()
as_written = policy.weight.grad.clone()
print((as_written - with_detach).abs().max())
