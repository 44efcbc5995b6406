# https://github.com/bbruceyuan/Hands-On-Large-Language-Models-CN/issues/9
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, LENGTH, GROUP = 8, 5, 16


class TinyPolicy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])

    @torch.no_grad()
    def generate(self, prompt):
        tokens = prompt
        for _ in range(LENGTH):
            probs = F.softmax(self(tokens)[:, -1], dim=-1)
            tokens = torch.cat([tokens, torch.multinomial(probs, 1)], dim=1)
        return tokens


def token_log_probs(model, tokens):
    log_p = F.log_softmax(model(tokens[:, :-1]), dim=-1)
    return log_p.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)[:, -LENGTH:]


def reward_fn(tokens):
    # as many tokens as possible equal to the one of the prompt
    return (tokens[:, -LENGTH:] == tokens[:, 1:2]).float().mean(1)


def grpo_loss(log_pi, old_log_pi, ref_log_pi, advantages, eps=0.2, beta=0.01):
    ratio = torch.exp(log_pi - old_log_pi)
    clipped = torch.clamp(ratio, 1 - eps, 1 + eps)
    policy_term = torch.min(ratio * advantages, clipped * advantages)
    log_ratio = ref_log_pi - log_pi
    kl = log_ratio.exp() - log_ratio - 1
    return -(policy_term - beta * kl).mean()


# %%
policy = TinyPolicy()
reference = copy.deepcopy(policy).eval()
for p in reference.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
rewards_log, first_losses, first_norms = [], [], []

# %%
for step in range(120):
    questions = torch.randint(0, VOCAB, (4, 1)).repeat_interleave(GROUP, 0)
    prompt = torch.cat([torch.full_like(questions, VOCAB), questions], 1)
    tokens = policy.generate(prompt)
    rewards = reward_fn(tokens).view(4, GROUP)
    advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
    advantages = advantages.view(-1, 1)
    with torch.no_grad():
        old_log_pi = token_log_probs(policy, tokens)
        ref_log_pi = token_log_probs(reference, tokens)
    for epoch in range(2):
        loss = grpo_loss(token_log_probs(policy, tokens), old_log_pi, ref_log_pi, advantages)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        if epoch == 0 and step == 0:
            first_losses.append(loss.item())
            first_norms.append(norm.item())
    rewards_log.append(rewards.mean().item())
print(first_losses, first_norms, rewards_log[0], rewards_log[-1])
assert abs(first_losses[0]) < 1e-5 and first_norms[0] > 1e-3
assert sum(rewards_log[-10:]) / 10 > 0.6
