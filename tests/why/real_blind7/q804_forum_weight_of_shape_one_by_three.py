# https://discuss.pytorch.org/t/output-of-the-model-depends-on-the-shape-of-the-weights-tensor/148155
import torch
from torch.nn import Sequential as Seq, Linear as Lin
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(0)
X = torch.rand((128, 3))
y = (X[:, 0] + X[:, 1] + X[:, 2])
m = Seq(Lin(3, 1, bias=False))

# 1 option
m[0].weight = torch.nn.parameter.Parameter(torch.tensor([[0, 0, 0]], dtype=torch.float))

# 2 option
# m[0].weight = torch.nn.parameter.Parameter(torch.tensor([0, 0, 0], dtype=torch.float))

optim = torch.optim.SGD(m.parameters(), lr=10e-2)
scheduler = ReduceLROnPlateau(optim, 'min', factor=0.5, patience=20)
mse = torch.nn.MSELoss()

# %%
for epoch in range(300):
    optim.zero_grad()
    out = m(X)
    loss = mse(out, y)
    loss.backward()
    optim.step()
    if epoch % 20 == 0:
        print(loss.item())
    scheduler.step(loss)
