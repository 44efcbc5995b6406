# https://github.com/jingyaogong/minimind/issues/754
import copy
from collections import namedtuple
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
args = SimpleNamespace(num_generations=4, max_gen_len=6, beta=0.1, epsilon=0.2, grad_clip=1.0)
tokenizer = SimpleNamespace(pad_token_id=0, eos_token_id=1, vocab_size=20)
RolloutResult = namedtuple("RolloutResult", "output_ids completion_ids per_token_logps prompt_lens")


class MiniMindForCausalLM(nn.Module):
    def __init__(self, vocab_size, hidden_size=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.lm_head = nn.Linear(hidden_size, vocab_size, bias=False)

    def forward(self, input_ids, attention_mask=None):
        hidden_states = self.embed_tokens(input_ids)
        if attention_mask is not None:
            hidden_states = hidden_states * attention_mask.unsqueeze(-1)
        logits = self.lm_head(self.rnn(hidden_states)[0])
        return SimpleNamespace(logits=logits)

    @torch.inference_mode()
    def generate(self, input_ids, attention_mask=None, max_new_tokens=8, temperature=1.0, pad_token_id=0,
                 eos_token_id=1):
        finished = torch.zeros(input_ids.shape[0], dtype=torch.bool)
        for _ in range(max_new_tokens):
            logits = self.forward(input_ids).logits[:, -1, :] / temperature
            next_token = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            next_token = torch.where(finished.unsqueeze(-1), torch.full_like(next_token, pad_token_id), next_token)
            input_ids = torch.cat([input_ids, next_token], dim=-1)
            finished = finished | next_token.squeeze(-1).eq(eos_token_id)
        return input_ids


def compute_per_token_logps(model, input_ids, n_keep, attention_mask=None):
    logits = model(input_ids, attention_mask=attention_mask).logits[:, -n_keep - 1:-1, :]
    ids = input_ids[:, -n_keep:]
    return torch.gather(logits.log_softmax(dim=-1), 2, ids.unsqueeze(-1)).squeeze(-1)


class TorchRolloutEngine:
    def __init__(self, policy_model, tokenizer):
        self.policy_model = policy_model
        self.tokenizer = tokenizer

    def rollout(self, prompt_ids, num_generations, max_new_tokens, temperature=0.8):
        with torch.no_grad():
            output_ids = self.policy_model.generate(
                input_ids=prompt_ids.repeat_interleave(num_generations, dim=0),
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                pad_token_id=self.tokenizer.pad_token_id,
                eos_token_id=self.tokenizer.eos_token_id,
            )  # [B*num_gen, P+R]
            prompt_len = prompt_ids.size(1)
            completion_ids = output_ids[:, prompt_len:]  # [B*num_gen, R]
            full_mask = (output_ids != self.tokenizer.pad_token_id).long()
            per_token_logps = compute_per_token_logps(self.policy_model, output_ids, completion_ids.size(1), full_mask)
        return RolloutResult(output_ids, completion_ids, per_token_logps, prompt_len)


def calculate_rewards(completion_ids):
    return (completion_ids == 7).float().sum(dim=1) - 0.1 * (completion_ids > 1).float().sum(dim=1)


model = MiniMindForCausalLM(tokenizer.vocab_size)
ref_model = copy.deepcopy(model).eval().requires_grad_(False)
rollout_engine = TorchRolloutEngine(model, tokenizer)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

# %%
for step in range(1, 4):
    prompts = torch.randint(2, tokenizer.vocab_size, (2, 5))
    rollout_result = rollout_engine.rollout(prompts, args.num_generations, args.max_gen_len)
    outputs = rollout_result.output_ids
    completion_ids = rollout_result.completion_ids
    old_per_token_logps = rollout_result.per_token_logps.detach()
    full_mask = (outputs != tokenizer.pad_token_id).long()
    rewards = calculate_rewards(completion_ids)

    per_token_logps = compute_per_token_logps(model, outputs, completion_ids.size(1), full_mask)
    with torch.no_grad():
        ref_per_token_logps = compute_per_token_logps(ref_model, outputs, completion_ids.size(1), full_mask)

    grouped_rewards = rewards.view(-1, args.num_generations)
    mean_r, std_r = (r.repeat_interleave(args.num_generations) for r in (grouped_rewards.mean(1), grouped_rewards.std(1)))
    advantages = (rewards - mean_r) / (std_r + 1e-4)
    completion_mask = (completion_ids != tokenizer.pad_token_id).int()

    kl_div = ref_per_token_logps - per_token_logps
    per_token_kl = torch.exp(kl_div) - kl_div - 1
    ratio = torch.exp(per_token_logps - old_per_token_logps)
    clipped_ratio = torch.clamp(ratio, 1 - args.epsilon, 1 + args.epsilon)
    surrogate = torch.min(ratio * advantages.unsqueeze(1), clipped_ratio * advantages.unsqueeze(1))
    per_token_loss = -(surrogate - args.beta * per_token_kl)
    loss = ((per_token_loss * completion_mask).sum(dim=1) / completion_mask.sum(dim=1).clamp(min=1)).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item(), rewards.mean().item())
