# https://github.com/tatsu-lab/alpaca_farm/issues/57
import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Accelerator:
    def __init__(self, gradient_accumulation_steps):
        self.steps, self.count, self.sync_gradients = gradient_accumulation_steps, 0, False

    @contextlib.contextmanager
    def accumulate(self, model):
        self.count += 1
        self.sync_gradients = self.count % self.steps == 0
        yield

    def backward(self, loss):
        (loss / self.steps).backward()


class AcceleratedOptimizer:
    def __init__(self, optimizer, accelerator):
        self.optimizer, self.accelerator = optimizer, accelerator

    def step(self):
        if self.accelerator.sync_gradients:
            self.optimizer.step()

    def zero_grad(self, set_to_none=True):
        if self.accelerator.sync_gradients:
            self.optimizer.zero_grad(set_to_none=set_to_none)


class Policy(nn.Module):
    def __init__(self, states=8, actions=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(states, 32), nn.Tanh())
        self.action_head, self.value_head = nn.Linear(32, actions), nn.Linear(32, 1)

    def forward(self, states):
        h = self.body(states)
        return F.log_softmax(self.action_head(h), dim=-1), self.value_head(h).squeeze(-1)


class PPOTrainer:
    def __init__(self, policy, accelerator):
        self.policy, self.accelerator = policy, accelerator
        self.optimizer = AcceleratedOptimizer(torch.optim.AdamW(policy.parameters(), lr=1e-3), accelerator)
        self.wanted = 0

    def compute_loss(self, batch):
        logprobs, values = self.policy(batch["states"])
        logprobs = logprobs.gather(1, batch["actions"].unsqueeze(1)).squeeze(1)
        ratio = torch.exp(logprobs - batch["logprobs"])
        pg_loss = -torch.min(batch["advantages"] * ratio, batch["advantages"] * ratio.clamp(0.8, 1.2)).mean()
        return pg_loss + 0.1 * F.mse_loss(values, batch["returns"])

    def step_with_rollouts(self, rollouts, noptepochs=2):
        for epoch_idx in range(noptepochs):
            for batch in rollouts:
                with self.accelerator.accumulate(self.policy):
                    ppo_loss = self.compute_loss(batch)
                    self.keep_what_is_wanted(ppo_loss)
                    self.accelerator.backward(ppo_loss)
                    if self.accelerator.sync_gradients:
                        self.seen = self.policy.value_head.weight.grad.clone()
                    self.optimizer.step()
                    self.policy.zero_grad(set_to_none=True)
        return ppo_loss

    def keep_what_is_wanted(self, loss):
        grad, = torch.autograd.grad(loss, self.policy.value_head.weight, retain_graph=True)
        first = self.accelerator.count % self.accelerator.steps == 1
        self.wanted = grad / self.accelerator.steps + (0 if first else self.wanted)


def make_rollouts(policy, n=8, size=16):
    for _ in range(n):
        states = torch.randn(size, 8)
        with torch.no_grad():
            logprobs, values = policy(states)
        actions = torch.multinomial(logprobs.exp(), 1).squeeze(1)
        returns = states[:, 0] + (actions == 2).float()
        yield {"states": states, "actions": actions, "returns": returns, "advantages": returns - values,
               "logprobs": logprobs.gather(1, actions.unsqueeze(1)).squeeze(1)}


# %%
policy = Policy()
trainer = PPOTrainer(policy, Accelerator(gradient_accumulation_steps=4))
for step_idx in range(5):
    loss = trainer.step_with_rollouts(list(make_rollouts(policy)))
    print(step_idx, loss.item())
