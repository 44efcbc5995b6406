# https://github.com/huggingface/trl/issues/1720
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, RESPONSE = 8, 4


class CausalLMWithValueHead(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)
        self.v_head = nn.Linear(dim, 1)

    def forward(self, input_ids):
        hidden, _ = self.rnn(self.wte(input_ids))
        return self.lm_head(hidden), self.v_head(hidden).squeeze(-1)

    @torch.no_grad()
    def generate(self, ids):
        for _ in range(RESPONSE):
            probs = self(ids)[0][:, -1].softmax(-1)
            ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
        return ids


class PPOTrainer:
    def __init__(self, model, lr=3e-3, cliprange=0.2, kl_coef=0.01, ppo_epochs=4):
        self.model, self.ref_model = model, copy.deepcopy(model).eval()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.cliprange, self.kl_coef, self.ppo_epochs = cliprange, kl_coef, ppo_epochs
        self.ratios = []

    def batched_forward_pass(self, model, ids):
        logits, values = model(ids[:, :-1])
        logp = F.log_softmax(logits, dim=-1)
        logprobs = logp.gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2)
        return logprobs[:, -RESPONSE:], values[:, -RESPONSE:]

    def compute_advantages(self, values, rewards, lam=0.95):
        lastgaelam, reversed_advantages = 0, []
        for t in reversed(range(RESPONSE)):
            nextvalues = values[:, t + 1] if t < RESPONSE - 1 else 0.0
            lastgaelam = rewards[:, t] + nextvalues - values[:, t] + lam * lastgaelam
            reversed_advantages.append(lastgaelam)
        advantages = torch.stack(reversed_advantages[::-1], dim=1)
        returns = advantages + values
        return (advantages - advantages.mean()) / (advantages.std() + 1e-8), returns

    def loss(self, old_logprobs, logprobs, values, advantages, returns):
        vf_loss = 0.5 * F.mse_loss(values, returns)
        ratio = torch.exp(logprobs - old_logprobs)
        pg_losses = -advantages * ratio
        pg_losses2 = -advantages * torch.clamp(ratio, 1 - self.cliprange, 1 + self.cliprange)
        self.ratios.append(ratio.mean().item())
        return torch.max(pg_losses, pg_losses2).mean(), 0.1 * vf_loss

    def step(self, ids, scores):
        with torch.no_grad():
            old_logprobs, values = self.batched_forward_pass(self.model, ids)
            ref_logprobs, _ = self.batched_forward_pass(self.ref_model, ids)
        rewards = -self.kl_coef * (old_logprobs - ref_logprobs)
        rewards[:, -1] += scores
        advantages, returns = self.compute_advantages(values, rewards)
        for _ in range(self.ppo_epochs):
            for mb in torch.randperm(len(ids)).split(32):
                logprobs, vpreds = self.batched_forward_pass(self.model, ids[mb])
                loss_p, loss_v = self.loss(old_logprobs[mb], logprobs, vpreds, advantages[mb], returns[mb])
                self.optimizer.zero_grad()
                (loss_p + loss_v).backward()
                self.optimizer.step()


def score(ids):
    # every token of the response should follow the one before it in the alphabet
    return (ids[:, 1:] == (ids[:, :-1] + 1) % VOCAB).float().mean(1)


# %%
trainer = PPOTrainer(CausalLMWithValueHead())
ids = trainer.model.generate(torch.randint(0, VOCAB, (64, 1)))
with torch.no_grad():
    old, _ = trainer.batched_forward_pass(trainer.model, ids)
advantage = torch.randn(64, RESPONSE)
logprobs, _ = trainer.batched_forward_pass(trainer.model, ids)
head = trainer.model.lm_head.weight
g_ratio, = torch.autograd.grad(trainer.loss(old, logprobs, old, advantage, old)[0], head, retain_graph=True)
g_reinforce, = torch.autograd.grad(-(advantage * logprobs).mean(), head)

# %%
history = []
for epoch in range(40):
    ids = trainer.model.generate(torch.randint(0, VOCAB, (64, 1)))
    scores = score(ids)
    trainer.step(ids, scores)
    history.append(scores.mean().item())
print(history[0], history[-1], trainer.ratios[0])
assert abs(trainer.ratios[0] - 1) < 1e-5
assert torch.allclose(g_ratio, g_reinforce, atol=1e-6) and g_ratio.abs().max() > 1e-3
assert history[-1] > 0.6 and history[-1] > 2 * history[0]
