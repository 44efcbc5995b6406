# https://github.com/nianticlabs/ace/issues/28
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, out_channels=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 2, 1)
        self.conv2 = nn.Conv2d(8, out_channels, 3, 2, 1)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))))


class Head(nn.Module):
    def __init__(self, in_channels=16):
        super().__init__()
        self.res1 = nn.Conv2d(in_channels, 32, 1)
        self.fc = nn.Conv2d(32, 3, 1)

    def forward(self, x):
        return self.fc(F.relu(self.res1(x)))


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.heads = Encoder(), Head()

    def get_features(self, inputs):
        return self.encoder(inputs)

    def get_scene_coordinates(self, features):
        return self.heads(features)


# %%
regressor = Regressor()
optimizer = torch.optim.AdamW(regressor.parameters(), lr=5e-4, weight_decay=0.0)
images, coords = torch.rand(8, 1, 32, 32), torch.randn(8, 3, 8, 8)

# create the training buffer
regressor.eval()
with torch.no_grad():
    features = regressor.get_features(images)
    features = features.permute(0, 2, 3, 1).reshape(-1, 16)
    targets = coords.permute(0, 2, 3, 1).reshape(-1, 3)
regressor.train()

# %%
for epoch in range(2):
    order = torch.randperm(len(features))
    for batch in order.split(128):
        predicted = regressor.get_scene_coordinates(features[batch][:, :, None, None])[:, :, 0, 0]
        loss = (predicted - targets[batch]).norm(dim=1).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
print(regressor.encoder.conv1.weight.grad)
