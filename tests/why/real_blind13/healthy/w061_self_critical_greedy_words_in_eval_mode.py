# https://github.com/ruotianluo/self-critical.pytorch/issues/180
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
BOS, VOCAB, LENGTH = 0, 8, 4


class CaptionModel(nn.Module):
    def __init__(self, rnn_size=32):
        super().__init__()
        self.fc_embed = nn.Linear(12, rnn_size)
        self.embed = nn.Embedding(VOCAB, rnn_size)
        self.core = nn.LSTMCell(2 * rnn_size, rnn_size)
        self.drop = nn.Dropout(0.2)
        self.logit = nn.Linear(rnn_size, VOCAB)

    def sample(self, fc_feats, sample_method='greedy', sample_n=1):
        fc = torch.relu(self.fc_embed(fc_feats)).repeat_interleave(sample_n, dim=0)
        state = (torch.zeros_like(fc), torch.zeros_like(fc))
        it = torch.full((len(fc),), BOS)
        seq, seq_logprobs = [], []
        for _ in range(LENGTH):
            state = self.core(torch.cat([self.embed(it), fc], 1), state)
            logprobs = F.log_softmax(self.logit(self.drop(state[0])), dim=1)
            if sample_method == 'greedy':
                it = logprobs.argmax(1)
            else:
                it = torch.distributions.Categorical(logits=logprobs.detach()).sample()
            seq.append(it)
            seq_logprobs.append(logprobs.gather(1, it[:, None]).squeeze(1))
        return torch.stack(seq, 1), torch.stack(seq_logprobs, 1)


def score(sequences, gts):
    return (sequences == gts).float().mean(1)


def get_self_critical_reward(greedy_res, gts, gen_result, sample_n):
    gen_scores = score(gen_result, gts.repeat_interleave(sample_n, 0))
    greedy_scores = score(greedy_res, gts).repeat_interleave(sample_n, 0)
    return (gen_scores - greedy_scores)[:, None].repeat(1, gen_result.shape[1]), gen_scores.mean()


class RewardCriterion(nn.Module):
    def forward(self, seq_logprobs, seq, reward):
        mask = torch.ones_like(seq, dtype=torch.float)
        return (-seq_logprobs * reward * mask).sum() / mask.sum()


class LossWrapper(nn.Module):
    def __init__(self, model, train_sample_n=5):
        super().__init__()
        self.model, self.n = model, train_sample_n
        self.rl_crit = RewardCriterion()

    def forward(self, fc_feats, gts):
        self.model.eval()
        with torch.no_grad():
            greedy_res, _ = self.model.sample(fc_feats, 'greedy')
        self.model.train()
        gen_result, sample_logprobs = self.model.sample(fc_feats, 'sample', self.n)
        reward, avg = get_self_critical_reward(greedy_res, gts, gen_result, self.n)
        return {'loss': self.rl_crit(sample_logprobs, gen_result, reward), 'reward': avg, 'greedy': score(greedy_res, gts).mean()}


# %%
scenes = torch.randn(3, 12)
captions = torch.randint(1, VOCAB, (3, LENGTH))
model = CaptionModel()
lw_model = LossWrapper(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
rewards, greedy = [], []

# %%
for iteration in range(150):
    which = torch.randint(0, 3, (16,))
    model_out = lw_model(scenes[which] + 0.1 * torch.randn(16, 12), captions[which])
    optimizer.zero_grad()
    model_out['loss'].backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    rewards.append(model_out['reward'].item())
    greedy.append(model_out['greedy'].item())
print(rewards[0], rewards[-1], greedy[0], greedy[-1])
assert rewards[-1] > rewards[0] + 0.3
assert model.training and all(p.grad is not None for p in model.parameters())
