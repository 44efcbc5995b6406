# https://github.com/ruotianluo/self-critical.pytorch/issues/35
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)
VOCAB, SEQ = 9, 6


class AttModel(nn.Module):
    def __init__(self, rnn_size=32, input_encoding_size=16):
        super(AttModel, self).__init__()
        self.vocab_size, self.rnn_size = VOCAB, rnn_size
        self.ss_prob = 0.0
        self.embed = nn.Embedding(self.vocab_size + 1, input_encoding_size)
        self.fc_embed = nn.Linear(8, rnn_size)
        self.att_embed, self.ctx2att = nn.Linear(8, rnn_size), nn.Linear(rnn_size, rnn_size)
        self.h2att, self.alpha_net = nn.Linear(rnn_size, rnn_size), nn.Linear(rnn_size, 1)
        self.core = nn.LSTMCell(input_encoding_size + rnn_size, rnn_size)
        self.logit = nn.Linear(rnn_size, self.vocab_size + 1)

    def attention(self, h, att_feats, p_att_feats):
        dot = torch.tanh(p_att_feats + self.h2att(h).unsqueeze(1))
        weight = F.softmax(self.alpha_net(dot).squeeze(2), dim=1)
        return torch.bmm(weight.unsqueeze(1), att_feats).squeeze(1)

    def get_logprobs_state(self, it, att_feats, p_att_feats, state):
        xt = self.embed(it)
        state = self.core(torch.cat([xt, self.attention(state[0], att_feats, p_att_feats)], 1), state)
        return F.log_softmax(self.logit(state[0]), dim=1), state

    def forward(self, fc_feats, att_feats, seq):
        batch_size = fc_feats.size(0)
        h = torch.tanh(self.fc_embed(fc_feats))
        state = (h, torch.zeros_like(h))
        att_feats = self.att_embed(att_feats)
        p_att_feats = self.ctx2att(att_feats)
        outputs = []
        for i in range(seq.size(1) - 1):
            if self.training and i >= 1 and self.ss_prob > 0.0:
                sample_prob = fc_feats.data.new(batch_size).uniform_(0, 1)
                sample_mask = sample_prob < self.ss_prob
                if sample_mask.sum() == 0:
                    it = seq[:, i].clone()
                else:
                    sample_ind = sample_mask.nonzero().view(-1)
                    it = seq[:, i].data.clone()
                    prob_prev = torch.exp(outputs[-1].data)
                    it.index_copy_(0, sample_ind, torch.multinomial(prob_prev, 1).view(-1).index_select(0, sample_ind))
                    it = Variable(it, requires_grad=False)
            else:
                it = seq[:, i].clone()
            output, state = self.get_logprobs_state(it, att_feats, p_att_feats, state)
            outputs.append(output)
        return torch.stack(outputs, 1)

    @torch.no_grad()
    def sample(self, fc_feats, att_feats):
        h = torch.tanh(self.fc_embed(fc_feats))
        state = (h, torch.zeros_like(h))
        att_feats = self.att_embed(att_feats)
        it, words = torch.zeros(len(fc_feats), dtype=torch.long), []
        for _ in range(SEQ):
            logprobs, state = self.get_logprobs_state(it, att_feats, self.ctx2att(att_feats), state)
            it = logprobs.argmax(1)
            words.append(it)
        return torch.stack(words, 1)


class LanguageModelCriterion(nn.Module):
    def forward(self, input, target, mask):
        output = -input.gather(2, target.unsqueeze(2)).squeeze(2) * mask
        return torch.sum(output) / torch.sum(mask)


def captions(n):
    kind, speed = torch.randint(0, 4, (n,)), torch.randint(1, 3, (n,))
    seq = torch.zeros(n, SEQ + 1, dtype=torch.long)
    for i in range(SEQ):
        seq[:, i + 1] = (kind * 2 + i * speed) % VOCAB + 1
    fc_feats = torch.cat([F.one_hot(kind, 4).float(), F.one_hot(speed, 4).float()], 1)
    return fc_feats + 0.1 * torch.randn(n, 8), fc_feats.unsqueeze(1) + 0.1 * torch.randn(n, 5, 8), seq


# %%
model = AttModel()
crit = LanguageModelCriterion()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for iteration in range(120):
    model.train()
    model.ss_prob = min(0.05 * (iteration // 20), 0.25)
    fc_feats, att_feats, labels = captions(32)
    optimizer.zero_grad()
    loss = crit(model(fc_feats, att_feats, labels), labels[:, 1:], torch.ones(32, SEQ))
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    losses.append(loss.item())

# %%
model.eval()
fc_feats, att_feats, labels = captions(200)
right = (model.sample(fc_feats, att_feats) == labels[:, 1:]).float().mean().item()
print(losses[0], losses[-1], model.ss_prob, right)
assert all(p.grad is not None for p in model.parameters()) and model.embed.weight.grad.abs().sum() > 0
assert right > 0.9
