# https://github.com/eric-mitchell/direct-preference-optimization/blob/main/trainers.py
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
beta = 0.1


def get_batch_logps(logits, labels):
    asked = labels[:, 1:] != -100
    targets = labels[:, 1:].clamp(min=0)
    logps = logits[:, :-1].log_softmax(-1).gather(2, targets[..., None]).squeeze(2)
    return (logps * asked).sum(-1)


def dpo_loss(policy_logps, reference_logps):
    chosen, rejected = (policy_logps - reference_logps).chunk(2)
    losses = -F.logsigmoid(beta * (chosen - rejected))
    return losses, beta * chosen.detach(), beta * rejected.detach()


class LM(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(torch.tanh(self.embed(ids)))


# %%
policy = LM()
reference_model = copy.deepcopy(policy)
reference_model.eval()
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda step: min(1.0, (step + 1) / 4))

# %%
for batch_counter in range(3):
    ids = torch.randint(0, 20, (8, 7))
    labels = ids.clone()
    labels[:, :3] = -100
    policy_logps = get_batch_logps(policy(ids), labels)
    with torch.no_grad():
        reference_logps = get_batch_logps(reference_model(ids), labels)
    losses, chosen_rewards, rejected_rewards = dpo_loss(policy_logps, reference_logps)
    reward_accuracies = (chosen_rewards > rejected_rewards).float()
    loss = losses.mean()
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
    optimizer.step()
    scheduler.step()
    if batch_counter < 2:
        optimizer.zero_grad()
    print(losses.detach().numpy().tolist(), reward_accuracies.mean().item())
