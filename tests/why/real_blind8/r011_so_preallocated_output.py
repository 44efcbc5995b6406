# https://whosebug.com/question/4249326/Pytorch-why-does-preallocating-memory-cause-trying-to-backward-through-the-graph-a-second-time
import torch
from torch import nn
from torch.utils.data import TensorDataset

torch.manual_seed(0)
trainData = TensorDataset(torch.randn(20, 4), torch.randn(20, 1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.output = nn.Linear(8, 1)
        self.lossfn = nn.MSELoss()

    def forward(self, x):
        return self.output(torch.sigmoid(self.hidden(x)))


# %%
self = Net()
optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

# %%
out = torch.empty_like(trainData.tensors[1])
for i,(x,y) in enumerate(trainData):
    optimizer.zero_grad()
    out[i] = self(x)
    loss = self.lossfn(out[i], y)
    loss.backward()
    optimizer.step()
