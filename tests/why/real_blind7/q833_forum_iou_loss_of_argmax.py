# https://discuss.pytorch.org/t/element-0-of-tensors-does-not-require-grad-and-does-not-have-a-grad-fn-how-can-i-fix-this/140756
import torch
import torch.nn as nn

torch.manual_seed(0)


class IOULoss(nn.Module):
    def __init__(self):
        super(IOULoss, self).__init__()

    def forward(self, inputs, targets, smooth=1):
        # class of each pixel
        inputs = torch.argmax(inputs, dim=1).float()
        inputs, targets = inputs.view(-1), targets.view(-1).float()
        intersection = (inputs * targets).sum()
        union = inputs.sum() + targets.sum() - intersection
        return 1 - (intersection + smooth) / (union + smooth)


net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
criterion = IOULoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# %%
images, masks = torch.rand(2, 3, 8, 8), torch.randint(0, 2, (2, 8, 8))
outputs = net(images)
loss = criterion(outputs, masks)
optimizer.zero_grad()
loss.backward()
optimizer.step()
