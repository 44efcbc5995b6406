# https://github.com/gentaiscool/end2end-asr-pytorch/issues/4
import torch
import torch.nn as nn

torch.manual_seed(0)


class NoamOpt:
    "Optim wrapper that implements rate."

    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self._step = 0
        self.warmup = warmup
        self.factor = factor
        self.model_size = model_size
        self._rate = 0

    def step(self):
        self._step += 1
        rate = self.rate()
        for p in self.optimizer.param_groups:
            p["lr"] = rate
        self._rate = rate
        self.optimizer.step()

    def rate(self, step=None):
        if step is None:
            step = self._step
        return self.factor * (self.model_size**-0.5 * min(step**-0.5, step * self.warmup**-1.5))


model = nn.Linear(8, 4)
before = model.weight.detach().clone()
opt = NoamOpt(8, 1.0, 4, torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9))
src, tgt = torch.randn(16, 8), torch.randint(4, (16,))
for epoch in range(5):
    opt.optimizer.zero_grad()
    pred = model(src)
    loss = nn.functional.cross_entropy(pred, tgt)
    loss.backward()
    opt.optimizer.step()

    print(epoch, loss.item())
