# The key network is a moving average; its batch statistics move with it, as published.
import copy
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)


class MoCoLike(nn.Module):
    def __init__(self, dim=8, K=64, m=0.99, tau=0.1):
        super().__init__()
        self.K, self.m, self.tau = K, m, tau
        self.query_net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dim))
        self.key_net = copy.deepcopy(self.query_net)
        for p in self.key_net.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum(self):
        for q, k in zip(self.query_net.parameters(), self.key_net.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        p = int(self.ptr)
        self.queue[:, p:p + keys.shape[0]] = keys.T
        self.ptr[0] = (p + keys.shape[0]) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.query_net(im_q), dim=1)
        with torch.no_grad():
            self._momentum()
            perm = torch.randperm(im_k.shape[0])
            k = F.normalize(self.key_net(im_k[perm]), dim=1)[perm.argsort()]
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().detach()
        logits = torch.cat([pos, neg], 1) / self.tau
        self._enqueue(k)
        return logits, torch.zeros(logits.shape[0], dtype=torch.long)


moco = MoCoLike()
opt = torch.optim.SGD(moco.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
lr_sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
# %%
for epoch in range(4):
    for x in torch.randn(64, 10).split(16):
        logits, labels = moco(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        loss = F.cross_entropy(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
    lr_sched.step()
    acc = (logits.argmax(1) == 0).float().mean()
    print(epoch, loss.item(), acc.item())

assert all(p.grad is not None for p in moco.query_net.parameters())
