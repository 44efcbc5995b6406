# https://github.com/huggingface/transformers/issues/3720
import torch
from torch import nn


class LMHeadModel(nn.Module):
    def __init__(self, vocab=10, dim=8):
        super().__init__()
        self.transformer = nn.Embedding(vocab, dim)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        return self.lm_head(torch.tanh(self.transformer(input_ids).mean(1)))

    @torch.no_grad()
    def generate(self, input_ids, max_length=5):
        log_probs = []
        while input_ids.shape[1] < max_length:
            dist = torch.distributions.Categorical(logits=self(input_ids))
            token = dist.sample()
            log_probs.append(dist.log_prob(token))
            input_ids = torch.cat([input_ids, token[:, None]], 1)
        return input_ids, torch.stack(log_probs, 1)


# %%
model = LMHeadModel()
tokens, log_probs = model.generate(torch.full((4, 1), 1))
reward = (tokens == 3).float().sum(1)
loss = -(log_probs.sum(1) * reward).mean()

# %%
loss.backward()
