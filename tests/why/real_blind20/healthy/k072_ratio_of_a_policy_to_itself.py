# https://github.com/brendanhogan/DeepSeekRL-Extended/issues/5
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PreTrainedModel(nn.Module):
    """Reads digits and tells the next one."""
    def __init__(self, vocab=10, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        return self.lm_head(self.rnn(self.embed(input_ids))[0])

    @torch.no_grad()
    def generate(self, prompt_ids, max_new_tokens, temperature):
        ids = prompt_ids
        for _ in range(max_new_tokens):
            probs = F.softmax(self(ids)[:, -1] / temperature, dim=-1)
            ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
        return ids


def get_per_token_logps(model, input_ids, logits_to_keep):
    logits = model(input_ids)[:, :-1]
    logits = logits[:, -logits_to_keep:]
    logps = logits.log_softmax(dim=-1)
    return logps.gather(2, input_ids[:, -logits_to_keep:].unsqueeze(2)).squeeze(2)


def score_completions(completion_ids, prompt_ids, args):
    # each digit should be one more than the digit before
    previous = torch.cat([prompt_ids[:, -1:], completion_ids[:, :-1]], dim=1)
    rewards = (completion_ids == (previous + 1) % 10).float().mean(dim=1)

    # Compute advantages
    mean_grouped_rewards = rewards.view(-1, args.num_chains).mean(dim=1)
    std_grouped_rewards = rewards.view(-1, args.num_chains).std(dim=1)
    mean_grouped_rewards = mean_grouped_rewards.repeat_interleave(args.num_chains, dim=0)
    std_grouped_rewards = std_grouped_rewards.repeat_interleave(args.num_chains, dim=0)
    advantages = (rewards - mean_grouped_rewards) / (std_grouped_rewards + 1e-4)
    return rewards, advantages


def compute_loss(model, base_model, prompt_completion_ids, completion_ids, completion_mask, advantages, args):
    # Only need the generated tokens' logits
    logits_to_keep = completion_ids.size(1)

    # Get reference model logits
    with torch.inference_mode():
        ref_per_token_logps = get_per_token_logps(base_model, prompt_completion_ids, logits_to_keep)

    # Get training model logits
    per_token_logps = get_per_token_logps(model, prompt_completion_ids, logits_to_keep)

    # Compute KL divergence
    per_token_kl = torch.exp(ref_per_token_logps - per_token_logps) - (ref_per_token_logps - per_token_logps) - 1

    # Compute loss with advantages
    per_token_loss = torch.exp(per_token_logps - per_token_logps.detach()) * advantages.unsqueeze(1)
    per_token_loss = -(per_token_loss - args.kl_weight_beta * per_token_kl)
    loss = ((per_token_loss * completion_mask).sum(dim=1) / completion_mask.sum(dim=1)).mean()

    mean_kl = ((per_token_kl * completion_mask).sum(dim=1) / completion_mask.sum(dim=1)).mean()
    return loss, {"kl": mean_kl.item()}


def grpo_loss(model, base_model, question, args):
    prompt_ids = question.repeat(args.num_chains, 1)
    prompt_completion_ids = model.generate(prompt_ids, args.max_completion_length, args.temperature)
    completion_ids = prompt_completion_ids[:, prompt_ids.size(1):]
    rewards, advantages = score_completions(completion_ids, prompt_ids, args)
    completion_mask = torch.ones_like(completion_ids)
    loss, metrics = compute_loss(model, base_model, prompt_completion_ids, completion_ids, completion_mask, advantages, args)
    metrics["reward"] = rewards.mean().item()
    return loss, metrics


# %%
args = argparse.Namespace(learning_rate=1e-2, max_grad_norm=1.0, gradient_accumulation_steps=2, warmup_percent=0.1, temperature=0.9,
                          num_chains=16, max_completion_length=4, num_train_iters=220, kl_weight_beta=0.01)
model = PreTrainedModel()
base_model = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, betas=(0.9, 0.99), weight_decay=0.1, eps=1e-8)

# Add linear warmup learning rate scheduler
warmup_steps = int(args.warmup_percent * args.num_train_iters / args.gradient_accumulation_steps)


def get_lr(step):
    if step < warmup_steps:
        return (step / warmup_steps)
    return 1.0


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=get_lr)

# %%
optimizer.zero_grad()
losses, rewards, norms = [], [], []
for round_num in range(args.num_train_iters):
    question = torch.randint(0, 10, (1, 2))
    total_loss, train_metrics = grpo_loss(model, base_model, question, args)

    # Gradient accumulation
    total_loss.backward()
    losses.append(total_loss.item())
    rewards.append(train_metrics["reward"])

    # Step optimizer
    if (round_num + 1) % args.gradient_accumulation_steps == 0:
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm).item())
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

# %%
early, late = sum(rewards[:30]) / 30, sum(rewards[-30:]) / 30
biggest = max(abs(v) for v in losses[:3])
base_grads = [p.grad for p in base_model.parameters()]
print(losses[:3], norms[:3], early, late)
assert biggest < 1e-3 and norms[0] > 0.01 and late > 0.75 and late > 2 * early and base_grads == [None] * len(base_grads)
