# https://github.com/jiesutd/NCRFpp/issues/105
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
START_TAG = -2
STOP_TAG = -1


def log_sum_exp(vec, m_size):
    _, idx = torch.max(vec, 1)  # B * 1 * M
    max_score = torch.gather(vec, 1, idx.view(-1, 1, m_size)).view(-1, 1, m_size)
    return max_score.view(-1, m_size) + torch.log(torch.sum(torch.exp(vec - max_score.expand_as(vec)), 1)).view(-1, m_size)


class CRF(nn.Module):
    def __init__(self, tagset_size):
        super(CRF, self).__init__()
        self.tagset_size = tagset_size
        init_transitions = torch.zeros(self.tagset_size + 2, self.tagset_size + 2)
        init_transitions[:, START_TAG] = -10000.0
        init_transitions[STOP_TAG, :] = -10000.0
        init_transitions[:, 0] = -10000.0
        init_transitions[0, :] = -10000.0
        self.transitions = nn.Parameter(init_transitions)

    def _calculate_PZ(self, feats, mask):
        batch_size, seq_len, tag_size = feats.size()
        mask = mask.transpose(1, 0).contiguous()
        ins_num = seq_len * batch_size
        feats = feats.transpose(1, 0).contiguous().view(ins_num, 1, tag_size).expand(ins_num, tag_size, tag_size)
        scores = feats + self.transitions.view(1, tag_size, tag_size).expand(ins_num, tag_size, tag_size)
        scores = scores.view(seq_len, batch_size, tag_size, tag_size)
        seq_iter = enumerate(scores)
        _, inivalues = next(seq_iter)  # bat_size * from_target_size * to_target_size
        partition = inivalues[:, START_TAG, :].clone().view(batch_size, tag_size, 1)

        for idx, cur_values in seq_iter:
            cur_values = cur_values + partition.contiguous().view(batch_size, tag_size, 1).expand(batch_size, tag_size, tag_size)
            cur_partition = log_sum_exp(cur_values, tag_size)
            mask_idx = mask[idx, :].view(batch_size, 1).expand(batch_size, tag_size)
            masked_cur_partition = cur_partition.masked_select(mask_idx)
            mask_idx = mask_idx.contiguous().view(batch_size, tag_size, 1)
            partition.masked_scatter_(mask_idx, masked_cur_partition)

        cur_values = self.transitions.view(1, tag_size, tag_size).expand(batch_size, tag_size, tag_size) \
            + partition.contiguous().view(batch_size, tag_size, 1).expand(batch_size, tag_size, tag_size)
        return log_sum_exp(cur_values, tag_size)[:, STOP_TAG].sum(), scores

    def _score_sentence(self, scores, mask, tags):
        score = 0.
        for b in range(tags.size(0)):
            length = int(mask[b].sum())
            before = self.tagset_size + 2 + START_TAG
            for t in range(length):
                score = score + scores[t, b, before, tags[b, t]]
                before = tags[b, t]
            score = score + self.transitions[before, STOP_TAG]
        return score

    def neg_log_likelihood_loss(self, feats, mask, tags):
        forward_score, scores = self._calculate_PZ(feats, mask)
        return forward_score - self._score_sentence(scores, mask, tags)


# %%
tagset_size, batch_size, seq_len = 5, 6, 7
word_embedding = nn.Embedding(30, 16)
lstm = nn.LSTM(16, 12, batch_first=True, bidirectional=True)
hidden2tag = nn.Linear(24, tagset_size + 2)
crf = CRF(tagset_size)
params = [p for m in (word_embedding, lstm, hidden2tag, crf) for p in m.parameters()]
optimizer = optim.SGD(params, lr=0.015, momentum=0.9)
words = torch.randint(0, 30, (batch_size, seq_len))
tags = words % 4 + 1
mask = torch.arange(seq_len) < torch.tensor([7, 7, 6, 5, 4, 3]).unsqueeze(1)

# %%
losses = []
for epoch in range(30):
    optimizer.zero_grad()
    feats = hidden2tag(lstm(word_embedding(words))[0])
    loss = crf.neg_log_likelihood_loss(feats, mask, tags) / batch_size
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
