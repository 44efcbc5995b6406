# https://discuss.pytorch.org/t/training-with-threshold-in-pytorch/145962
import torch
import torch.nn as nn

torch.manual_seed(0)


class ThresholdNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.x = nn.Parameter(torch.tensor(0.0))
        self.fc = nn.Linear(n_features, 1)

    def forward(self, data_array):
        thresholded_vals = data_array * (data_array > self.x).float()
        return self.fc(thresholded_vals)


# data whose small values are noise, the true threshold is 1
data_array = torch.randn(256, 8) * 1.5
target = (data_array * (data_array > 1.0)).sum(dim=1, keepdim=True)

# %%
model = ThresholdNet(8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
loss_fn = nn.MSELoss()
for epoch in range(200):
    optimizer.zero_grad()
    loss = loss_fn(model(data_array), target)
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print(epoch, loss.item(), model.x.item())
print("threshold", model.x.item(), model.x.grad)
