# https://github.com/xbdxwyh/mocose/issues/2
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.dropout = nn.Dropout(0.2)
        self.layer = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, input_ids):
        hidden = self.dropout(self.embeddings(input_ids))
        return (hidden + self.layer(hidden)).mean(1)


class MoCoSEModel(nn.Module):
    def __init__(self, dim=32, out_size=16, K=128, T=0.05, ema_decay=0.9):
        super().__init__()
        self.K, self.T, self.ema_decay = K, T, ema_decay
        self.online_encoder = Encoder(dim=dim)
        self.online_pooler = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, out_size))
        self.predictor = nn.Linear(out_size, out_size)
        self.target_encoder = copy.deepcopy(self.online_encoder)
        self.target_pooler = copy.deepcopy(self.online_pooler)
        self.register_buffer("queue", F.normalize(torch.randn(K, out_size), dim=1))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[ptr:ptr + len(keys)] = keys
        self.queue_ptr[0] = (ptr + len(keys)) % self.K

    def prepare_update(self):
        for online, target in ((self.online_encoder, self.target_encoder), (self.online_pooler, self.target_pooler)):
            for p_o, p_t in zip(online.parameters(), target.parameters()):
                p_t.data = p_t.data * self.ema_decay + p_o.data * (1.0 - self.ema_decay)

    def forward(self, input_ids):
        view_online = F.normalize(self.predictor(self.online_pooler(self.online_encoder(input_ids))), dim=1)
        view_target = F.normalize(self.target_pooler(self.target_encoder(input_ids)), dim=1)
        pos = view_online @ view_target.t()
        neg = view_online @ self.queue.clone().t()
        logits = torch.cat([pos, neg], dim=1) / self.T
        loss = F.cross_entropy(logits, torch.arange(len(input_ids)))
        self._dequeue_and_enqueue(view_target)
        return loss


def sentences(n):
    return torch.randint(0, 60, (n, 6))


# %%
model = MoCoSEModel()
non_optimizer_list = [model.target_encoder, model.target_pooler]
for layer in non_optimizer_list:
    for para in layer.parameters():
        para.requires_grad = False
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
target_before = [p.clone() for p in model.target_encoder.parameters()]

# %%
losses = []
model.train()
for step in range(150):
    loss = model(sentences(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.prepare_update()
    losses.append(loss.item())

# %%
model.eval()
with torch.no_grad():
    a = sentences(200)
    b = a.clone()
    b[:, 0] = torch.randint(0, 60, (200,))  # one word of six is another
    za, zb = (F.normalize(model.online_encoder(s), dim=1) for s in (a, b))
    found = ((za @ zb.t()).argmax(1) == torch.arange(200)).float().mean().item()
target_grads = [p.grad for layer in non_optimizer_list for p in layer.parameters()]
target_moved = all(not torch.equal(x, y) for x, y in zip(target_before, model.target_encoder.parameters()))
print(losses[0], losses[-1], found, target_moved)
assert all(g is None for g in target_grads) and target_moved
assert losses[-1] < 0.7 * losses[0] and found > 0.9
