# https://github.com/ruotianluo/self-critical.pytorch/issues/84
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, LENGTH, BOS = 9, 5, 0


class CaptionModel(nn.Module):
    def __init__(self, feat=6, dim=48):
        super().__init__()
        self.img_embed = nn.Linear(feat, dim)
        self.embed = nn.Embedding(VOCAB, dim)
        self.core = nn.LSTMCell(dim, dim)
        self.logit = nn.Linear(dim, VOCAB)

    def get_logprobs_state(self, it, state):
        state = self.core(self.embed(it), state)
        return F.log_softmax(self.logit(state[0]), dim=1), state

    def init_state(self, fc_feats):
        h = torch.tanh(self.img_embed(fc_feats))
        return h, torch.zeros_like(h)

    def forward(self, fc_feats, seq):
        state, outputs = self.init_state(fc_feats), []
        words = torch.cat([torch.full_like(seq[:, :1], BOS), seq[:, :-1]], 1)
        for t in range(LENGTH):
            logprobs, state = self.get_logprobs_state(words[:, t], state)
            outputs.append(logprobs)
        return torch.stack(outputs, 1)

    def sample(self, fc_feats, sample_max=True):
        state = self.init_state(fc_feats)
        it = torch.full((len(fc_feats),), BOS)
        seq, seqLogprobs = [], []
        for t in range(LENGTH):
            logprobs, state = self.get_logprobs_state(it, state)
            if sample_max:
                sampleLogprobs, it = torch.max(logprobs.detach(), 1)
            else:
                prob_prev = torch.exp(logprobs.detach())
                it = torch.multinomial(prob_prev, 1)
                sampleLogprobs = logprobs.gather(1, it)
                it, sampleLogprobs = it.view(-1), sampleLogprobs.view(-1)
            seq.append(it)
            seqLogprobs.append(sampleLogprobs)
        return torch.stack(seq, 1), torch.stack(seqLogprobs, 1)


class RewardCriterion(nn.Module):
    def forward(self, input, reward):
        return -(input * reward.unsqueeze(1)).mean()


mapping = torch.randn(LENGTH, 6, VOCAB)


def draw(n):
    """Features, and the words that belong to them; people write one of five otherwise."""
    feats = torch.randn(n, 6)
    words = torch.einsum('nf,lfv->nlv', feats, mapping)[..., 1:].argmax(-1) + 1
    noisy = torch.where(torch.rand(n, LENGTH) < 0.2, torch.randint(1, VOCAB, (n, LENGTH)), words)
    return feats, words, noisy


def cider(seq, words):
    return (seq == words).float().mean(1)


# %%
model = CaptionModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(120):
    feats, _, noisy = draw(64)
    optimizer.zero_grad()
    F.nll_loss(model(feats, noisy).flatten(0, 1), noisy.flatten()).backward()
    optimizer.step()

# %%
rl_crit = RewardCriterion()
test_feats, test_words, _ = draw(500)
with torch.no_grad():
    before = cider(model.sample(test_feats, sample_max=False)[0], test_words).mean().item()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for it in range(150):
    feats, words, _ = draw(128)
    model.eval()
    with torch.no_grad():
        greedy_res, _ = model.sample(feats)
    model.train()
    gen_result, sample_logprobs = model.sample(feats, sample_max=False)
    reward = cider(gen_result, words) - cider(greedy_res, words)
    loss = rl_crit(sample_logprobs, reward)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
with torch.no_grad():
    after = cider(model.sample(test_feats, sample_max=False)[0], test_words).mean().item()
    best = cider(model.sample(test_feats)[0], test_words).mean().item()
print(before, after, best, min(losses), max(losses))
assert sample_logprobs.requires_grad and not reward.requires_grad
assert all(p.grad is not None and p.grad.any() for p in model.parameters())
assert after > before + 0.1
