# https://github.com/texttron/tevatron/issues/30
import os
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
VOCAB, N_PASSAGES, BATCH = 40, 2, 16


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, dim, padding_idx=0)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.layer = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.0, batch_first=True)

    def forward(self, input_ids):
        x = torch.cat([self.cls.expand(len(input_ids), -1, -1), self.embed(input_ids)], 1)
        return self.layer(x)


class LinearPooler(nn.Module):
    def __init__(self, input_dim=32, output_dim=32, tied=True):
        super(LinearPooler, self).__init__()
        self.linear_q = nn.Linear(input_dim, output_dim)
        self.linear_p = self.linear_q if tied else nn.Linear(input_dim, output_dim)

    def forward(self, q=None, p=None):
        if q is not None:
            return self.linear_q(q[:, 0])
        return self.linear_p(p[:, 0])


class DenseModel(nn.Module):
    def __init__(self, lm_q, lm_p, pooler=None, negatives_x_device=True):
        super().__init__()
        self.lm_q = lm_q
        self.lm_p = lm_p
        self.pooler = pooler
        self.cross_entropy = nn.CrossEntropyLoss(reduction='mean')
        self.negatives_x_device = negatives_x_device
        self.process_rank = dist.get_rank()
        self.world_size = dist.get_world_size()

    def forward(self, query, passage):
        q_reps = self.pooler(q=self.lm_q(query))
        p_reps = self.pooler(p=self.lm_p(passage))
        if self.training and self.negatives_x_device:
            q_reps = self.dist_gather_tensor(q_reps)
            p_reps = self.dist_gather_tensor(p_reps)
        scores = torch.matmul(q_reps, p_reps.transpose(0, 1))
        target = torch.arange(scores.size(0), dtype=torch.long) * N_PASSAGES
        loss = self.cross_entropy(scores, target)
        if self.training and self.negatives_x_device:
            loss = loss * self.world_size  # counter average weight reduction
        return loss, scores

    def dist_gather_tensor(self, t):
        t = t.contiguous()
        all_tensors = [torch.empty_like(t) for _ in range(self.world_size)]
        dist.all_gather(all_tensors, t)
        all_tensors[self.process_rank] = t
        return torch.cat(all_tensors, dim=0)


def retrieval_batch(n=BATCH):
    query = torch.randint(1, VOCAB + 1, (n, 4))
    positive = torch.cat([query[:, torch.randperm(4)], torch.randint(1, VOCAB + 1, (n, 2))], 1)
    negative = torch.cat([torch.randint(1, VOCAB + 1, (n, 5)), query[:, :1]], 1)
    return query, torch.stack([positive, negative], 1).flatten(0, 1)


# %%
os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo')
store = tempfile.NamedTemporaryFile(delete=False)
dist.init_process_group('gloo', init_method='file://' + store.name, rank=0, world_size=1)
lm = Encoder()
model = DenseModel(lm, lm, LinearPooler(tied=True))
ddp_model = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

# %%
losses = []
for step in range(120):
    query, passage = retrieval_batch()
    loss, _ = ddp_model(query, passage)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item() / dist.get_world_size())

# %%
optimizer.zero_grad()
ddp_model(query, passage)[0].backward()
model.negatives_x_device = False
by_whole_batch = torch.autograd.grad(model(query, passage)[0], list(model.parameters()))
same = all(torch.allclose(p.grad, g, atol=1e-5) for p, g in zip(model.parameters(), by_whole_batch))
dist.destroy_process_group()
os.unlink(store.name)
model.eval()
with torch.no_grad():
    query, passage = retrieval_batch(64)
    found = (model(query, passage)[1].argmax(1) == torch.arange(64) * N_PASSAGES).float().mean().item()
print(losses[0], losses[-1], same, found)
assert same and found > 0.75
