# https://github.com/hirofumi0810/neural_sp/issues/168
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

args = SimpleNamespace(accum_grad_n_steps=4, clip_grad_norm=0., lr=1e-2, n_epochs=1, batch_size=4)


class Speech2Text(nn.Module):
    def __init__(self, input_dim=6, vocab=9, enc_n_units=8):
        super().__init__()
        self.enc = nn.GRU(input_dim, enc_n_units, batch_first=True)
        self.output = nn.Linear(enc_n_units, vocab)

    def forward(self, batch):
        eout, _ = self.enc(batch['xs'])
        logits = self.output(eout)
        loss = F.cross_entropy(logits.transpose(1, 2), batch['ys'])
        return loss, {'loss.att': loss.item()}


# %%
torch.manual_seed(1)
model = Speech2Text()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
train_set = [{'xs': torch.randn(4, 5, 6), 'ys': torch.randint(9, (4, 5))} for _ in range(4)]

# what one step over the whole batch gives
whole = {key: torch.cat([batch[key] for batch in train_set]) for key in ('xs', 'ys')}
grads_whole = torch.autograd.grad(model(whole)[0], list(model.parameters()))

# %%
accum_n_steps = 0
n_steps = 0
for batch_train in train_set:
    accum_n_steps += 1
    loss, observation = model(batch_train)
    loss.backward()
    if args.clip_grad_norm > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad_norm)
    print('step:%d loss:%.3f' % (n_steps, observation['loss.att']))
    if accum_n_steps >= args.accum_grad_n_steps or batch_train is train_set[-1]:
        grads_accumulated = [p.grad.clone() for p in model.parameters()]
        optimizer.step()
        optimizer.zero_grad()
        accum_n_steps = 0
        n_steps += 1
