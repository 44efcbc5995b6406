# https://github.com/INK-USC/RE-Net/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F


def get_sorted_s_r_embed(s_hist, s, r, ent_embeds):
    s_hist_len = torch.LongTensor(list(map(len, s_hist)))
    s_len, s_idx = s_hist_len.sort(0, descending=True)
    num_non_zero = len(torch.nonzero(s_len))
    s_len_non_zero = s_len[:num_non_zero]
    s_hist_sorted = [s_hist[idx.item()] for idx in s_idx][:num_non_zero]
    flat_s, len_s = [], []
    for hist in s_hist_sorted:
        for neighs in hist:
            len_s.append(len(neighs))
            flat_s.extend(neighs)
    return s_len_non_zero, s[s_idx], r[s_idx], ent_embeds[torch.LongTensor(flat_s)], len_s


class AttnAggregator(nn.Module):
    def __init__(self, h_dim, dropout, seq_len=10):
        super().__init__()
        self.h_dim, self.seq_len = h_dim, seq_len
        self.dropout = nn.Dropout(dropout)
        self.attn_s = nn.Linear(3 * h_dim, h_dim)
        self.v_s = nn.Parameter(torch.Tensor(h_dim, 1))
        nn.init.xavier_uniform_(self.v_s, gain=nn.init.calculate_gain('relu'))

    def forward(self, s_hist, s, r, ent_embeds, rel_embeds):
        s_len_non_zero, s_tem, r_tem, embeds_stack, len_s = get_sorted_s_r_embed(s_hist, s, r, ent_embeds)
        ss_all, rr_all, curr = [], [], 0
        for i, s_l in enumerate(s_len_non_zero):
            total_num = sum(len_s[curr:curr + s_l])
            curr += s_l
            ss_all.append(ent_embeds[s_tem[i]].repeat(total_num, 1))
            rr_all.append(rel_embeds[r_tem[i]].repeat(total_num, 1))

        embeds_ss_rr = torch.cat([embeds_stack, torch.cat(ss_all), torch.cat(rr_all)], dim=1)
        weights = torch.tanh(self.attn_s(embeds_ss_rr)) @ self.v_s
        weights = torch.cat([F.softmax(x, dim=0) for x in torch.split(weights, len_s)])
        embeds_mean = torch.stack([x.sum(0) for x in torch.split(weights * embeds_stack, len_s)])

        embeds_split = torch.split(embeds_mean, s_len_non_zero.tolist())
        s_embed_seq_tensor = torch.zeros(len(s_len_non_zero), self.seq_len, 3 * self.h_dim)

        s_embed_seq_tensor = self.dropout(s_embed_seq_tensor)
        s_packed_input = nn.utils.rnn.pack_padded_sequence(s_embed_seq_tensor, s_len_non_zero, batch_first=True)
        return s_packed_input


class RENet(nn.Module):
    def __init__(self, in_dim, h_dim, num_rels, dropout=0.2):
        super().__init__()
        self.rel_embeds = nn.Parameter(torch.Tensor(num_rels, h_dim))
        self.ent_embeds = nn.Parameter(torch.Tensor(in_dim, h_dim))
        nn.init.xavier_uniform_(self.rel_embeds)
        nn.init.xavier_uniform_(self.ent_embeds)
        self.encoder = nn.GRU(3 * h_dim, h_dim, batch_first=True)
        self.aggregator = AttnAggregator(h_dim, dropout, seq_len=3)
        self.linear = nn.Linear(3 * h_dim, in_dim)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, triplets, s_hist):
        s, r, o = triplets[:, 0], triplets[:, 1], triplets[:, 2]
        _, s_idx = torch.LongTensor(list(map(len, s_hist))).sort(0, descending=True)
        s_packed_input = self.aggregator(s_hist, s, r, self.ent_embeds, self.rel_embeds)
        _, s_h = self.encoder(s_packed_input)
        s_h = torch.cat((s_h.squeeze(0), torch.zeros(len(s) - s_h.shape[1], s_h.shape[2])), dim=0)
        ob_pred = self.linear(torch.cat((self.ent_embeds[s[s_idx]], s_h, self.rel_embeds[r[s_idx]]), dim=1))
        return self.criterion(ob_pred, o[s_idx])


# %%
model = RENet(in_dim=12, h_dim=6, num_rels=4)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
triplets = torch.tensor([[0, 1, 5], [3, 0, 7], [8, 2, 1]])
s_hist = [[[1, 2], [4]], [[6], [2, 9, 10], [11]], []]

# %%
for epoch in range(3):
    loss = model(triplets, s_hist)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
for name, p in model.named_parameters():
    print(name, None if p.grad is None else p.grad.norm())
