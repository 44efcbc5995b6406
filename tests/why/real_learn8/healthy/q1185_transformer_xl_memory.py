# https://github.com/kimiyoung/transformer-xl/blob/master/pytorch/mem_transformer.py
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DecoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv_net, self.o_net = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.layer_norm, self.ff = nn.LayerNorm(d), nn.Sequential(nn.Linear(d, 16), nn.ReLU(inplace=True), nn.Linear(16, d))

    def forward(self, h, r_w_bias, attn_mask, mems):
        cat = torch.cat([mems, h], 0)
        w_head_q, w_head_k, w_head_v = torch.chunk(self.qkv_net(cat), 3, dim=-1)
        w_head_q = w_head_q[-h.size(0) :]
        attn_score = torch.einsum("ibd,jbd->ijb", w_head_q + r_w_bias, w_head_k)
        attn_score.mul_(h.size(-1) ** -0.5)
        attn_score = attn_score.float().masked_fill(attn_mask[:, :, None], -float("inf")).type_as(attn_score)
        attn_prob = F.softmax(attn_score, dim=1)
        attn_vec = torch.einsum("ijb,jbd->ibd", attn_prob, w_head_v)
        h = self.layer_norm(h + self.o_net(attn_vec))
        return self.layer_norm(h + self.ff(h))


class MemTransformerLM(nn.Module):
    def __init__(self, n_token=12, d=8, n_layer=2, mem_len=4):
        super().__init__()
        self.word_emb, self.mem_len = nn.Embedding(n_token, d), mem_len
        self.r_w_bias = nn.Parameter(torch.zeros(d))
        self.layers, self.crit = nn.ModuleList([DecoderLayer(d) for _ in range(n_layer)]), nn.Linear(d, n_token)

    def _update_mems(self, hids, mems, qlen, mlen):
        with torch.no_grad():
            new_mems = []
            end_idx = mlen + max(0, qlen)
            beg_idx = max(0, end_idx - self.mem_len)
            for i in range(len(hids)):
                new_mems.append(torch.cat([mems[i], hids[i]], dim=0)[beg_idx:end_idx].detach())
        return new_mems

    def forward(self, data, target, *mems):
        if not mems:
            mems = [torch.empty(0, data.size(1), 8) for _ in range(len(self.layers) + 1)]
        qlen, mlen = data.size(0), mems[0].size(0)
        core_out = self.word_emb(data)
        dec_attn_mask = torch.triu(torch.ones(qlen, mlen + qlen, dtype=torch.bool), diagonal=1 + mlen)
        hids = [core_out]
        for i, layer in enumerate(self.layers):
            core_out = layer(core_out, self.r_w_bias, dec_attn_mask, mems[i])
            hids.append(core_out)
        new_mems = self._update_mems(hids, mems, qlen, mlen)
        loss = F.cross_entropy(self.crit(core_out).view(-1, 12), target.view(-1), reduction="none").view(qlen, -1)
        return [loss, *new_mems]


model = MemTransformerLM()
optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20, eta_min=0.0)
before = model.word_emb.weight.detach().clone()

# %%
train_loss, mems, warmup_step = 0, tuple(), 2
for train_step in range(1, 5):
    data, target = torch.randint(0, 12, (3, 2)), torch.randint(0, 12, (3, 2))
    model.zero_grad()
    ret = model(data, target, *mems)
    loss, mems = ret[0], ret[1:]
    loss = loss.float().mean().type_as(loss)
    loss.backward()
    train_loss += loss.float().item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    if train_step < warmup_step:
        optimizer.param_groups[0]["lr"] = 2.5e-4 * train_step / warmup_step
    else:
        scheduler.step()
    print(train_loss / train_step)
