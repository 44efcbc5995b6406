# https://discuss.pytorch.org/t/best-way-to-constrain-affine-transformation-to-rotation/102020
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()

        # the input is a batch x 2 x 32 x 32 size tensor
        self.encoder = nn.Sequential(
            nn.Conv2d(2, 8, 3, 1, 1, bias=False),
            nn.ELU(),
            nn.AvgPool2d(2, 2, 0),
            nn.Conv2d(8, 16, 3, 1, 1, bias=False),
            nn.BatchNorm2d(16, momentum=0.9, eps=1e-5),
            nn.ELU(),
            nn.AvgPool2d(2, 2, 0),
            nn.Conv2d(16, 1, 3, 1, 1),
        )  # batch x 1 x 8 x 8

        self.fc_theta = nn.Sequential(
            nn.Linear(8 * 8, 32),
            nn.ReLU(True),
            nn.Linear(32, 1),
        )

    def rotation(self, image, theta):
        theta = theta.squeeze()
        # rotation matrix
        rot_matrix = torch.tensor([
            torch.cos(theta), -torch.sin(theta), 0.,
            torch.sin(theta), torch.cos(theta), 0.
        ], dtype=torch.float).view(1, 2, 3)

        # apply the rotation
        grid = F.affine_grid(rot_matrix, image.size(), align_corners=False)
        return F.grid_sample(image, grid, align_corners=False)

    def forward(self, x, y):
        batch_size = x.size(0)
        xy = torch.cat((x, y), dim=1)
        out = self.encoder(xy)
        theta = self.fc_theta(out.view(batch_size, -1))
        return self.rotation(x, theta)


# %%
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    x = torch.rand(1, 1, 32, 32)
    y = torch.rot90(x, 1, dims=(2, 3))
    x_rot = model(x, y)
    loss = F.mse_loss(x_rot, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
