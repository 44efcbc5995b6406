# https://github.com/pytorch/pytorch/issues/31396
import torch as th
from collections import OrderedDict

dev = th.device("cpu")
dtype = th.float32

model = th.nn.Sequential(OrderedDict((
    ("input", th.nn.Linear(50, 2)),
    ("output_activ", th.nn.Softmax(dim=-1))
)))

model.to(dev, dtype=dtype)
model.train()

optim = th.optim.Adam(model.parameters(), lr=1e-5)
loss = th.nn.BCELoss()

inputs = th.arange(50, device=dev, dtype=dtype)
outputs = th.tensor([0., 1.], device=dev, dtype=dtype)
with th.no_grad():
    model.input.weight[0].fill_(-0.2)
    model.input.weight[1].fill_(0.2)

# %%
optim.zero_grad()
m = model(inputs)
lll = loss(m, outputs)
lll.backward()

# %%
print("Gradients:")
for p in model.parameters():
    if p.grad is None:
        continue
    grad = p.grad.data
    print(grad)
