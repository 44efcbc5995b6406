# https://discuss.pytorch.org/t/multi-output-model/49447
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MultiOutputModel(nn.Module):
    def __init__(self, in_features=12, hidden=32, classes=4):
        super(MultiOutputModel, self).__init__()
        self.dense1 = nn.Linear(in_features, hidden)
        self.dense2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x1 = F.relu(self.dense1(x))
        x1 = F.log_softmax(self.dense2(x1), dim=1)

        x2 = F.relu(self.dense1(x))
        x2 = F.log_softmax(self.dense2(x2), dim=1)
        return x1, x2


# %%
data = torch.randn(512, 12)
target1 = data[:, :4].argmax(dim=1)
target2 = data[:, 4:8].argmax(dim=1)
loader = DataLoader(TensorDataset(data, target1, target2), batch_size=64, shuffle=True)

model = MultiOutputModel()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

# %%
for epoch in range(40):
    for inputs, t1, t2 in loader:
        optimizer.zero_grad()
        out1, out2 = model(inputs)
        loss1 = criterion(out1, t1)
        loss2 = criterion(out2, t2)
        loss = loss1 + loss2
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss1.item(), loss2.item())

# %%
with torch.no_grad():
    out1, out2 = model(data)
accuracy1 = (out1.argmax(dim=1) == target1).float().mean().item()
accuracy2 = (out2.argmax(dim=1) == target2).float().mean().item()
print(accuracy1, accuracy2)
