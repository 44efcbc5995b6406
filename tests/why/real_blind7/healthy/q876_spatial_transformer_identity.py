# https://pytorch.org/tutorials/intermediate/spatial_transformer_tutorial.html
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc = nn.Linear(64, 10)
        # Spatial transformer localization-network
        self.localization = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.ReLU(True))
        # Regressor for the 3 * 2 affine matrix
        self.fc_loc = nn.Sequential(nn.Linear(4 * 9, 16), nn.ReLU(True), nn.Linear(16, 6))
        # Initialize the weights/bias with identity transformation
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))

    def stn(self, x):
        xs = self.localization(x).view(-1, 4 * 9)
        theta = self.fc_loc(xs).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        return F.log_softmax(self.fc(self.stn(x).flatten(1)), dim=1)


# %%
model = Net()
optimizer = optim.SGD(model.parameters(), lr=0.01)

# %%
data, target = torch.rand(8, 1, 8, 8), torch.randint(0, 10, (8,))
optimizer.zero_grad()
output = model(data)
loss = F.nll_loss(output, target)
loss.backward()
optimizer.step()
print(loss.item(), model.localization[0].weight.grad.abs().max(), model.fc_loc[2].weight.grad.abs().max())
