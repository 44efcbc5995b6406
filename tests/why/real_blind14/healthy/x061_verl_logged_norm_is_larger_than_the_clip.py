# https://github.com/verl-project/verl/issues/2282
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAD = 0


class Actor(nn.Module):
    def __init__(self, vocab=12, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        return self.lm_head(self.rnn(self.embed(input_ids))[0])


class Worker:
    def __init__(self, module, lr=0.01, clip_grad=1.0):
        self.actor_module = module
        self.clip_grad = clip_grad
        self.actor_optimizer = torch.optim.AdamW(module.parameters(), lr=lr)

    def _optimizer_step(self):
        grad_norm = nn.utils.clip_grad_norm_(self.actor_module.parameters(), max_norm=self.clip_grad)
        if not torch.isfinite(grad_norm):
            print(f'grad_norm is not finite: {grad_norm}')
            self.actor_optimizer.zero_grad()
        else:
            self.actor_optimizer.step()
        return grad_norm

    def update_policy(self, batch, loss_scale=20.0):
        self.actor_module.train()
        metrics = {}
        self.actor_optimizer.zero_grad()
        for input_ids in batch.split(16):
            logits = self.actor_module(input_ids[:, :-1])
            targets = input_ids[:, 1:]
            nll = F.cross_entropy(logits.transpose(1, 2), targets, reduction='none')
            response_mask = (targets != PAD).float()
            loss = loss_scale * (nll * response_mask).sum() / response_mask.sum()
            (loss / (len(batch) / 16)).backward()
            metrics['actor/loss'] = loss.detach().item() / loss_scale
        grad_norm = self._optimizer_step()
        metrics['actor/grad_norm'] = grad_norm.detach().item()
        return metrics


def draw_batch(n=64, length=9):
    # each sequence counts upwards from a random number, and the short ones are padded
    start = torch.randint(1, 4, (n, 1))
    tokens = start + torch.arange(length)
    ends = torch.randint(4, length + 1, (n, 1))
    return torch.where(torch.arange(length) < ends, tokens.clamp(max=11), torch.tensor(PAD))


# %%
worker = Worker(Actor())
logged, applied = [], []

# %%
for step in range(60):
    metrics = worker.update_policy(draw_batch())
    logged.append(metrics['actor/grad_norm'])
    applied.append(torch.stack([p.grad.norm() for p in worker.actor_module.parameters()]).norm().item())
    if step % 20 == 0:
        print(step, metrics)

# %%
with torch.no_grad():
    batch = draw_batch(200)
    guessed = worker.actor_module(batch[:, :-1]).argmax(-1)
    mask = batch[:, 1:] != PAD
    accuracy = (guessed == batch[:, 1:])[mask].float().mean().item()
print(max(logged), max(applied), accuracy)
assert max(logged) > 1.0 and max(applied) < 1.0 + 1e-4
assert accuracy > 0.95
