# https://github.com/j-sripad/mulitresunet-pytorch/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvBatchnorm(nn.Module):
    def __init__(self, inputs, filters, kernel_size, activation='relu', padding=0):
        super().__init__()
        self.activation = activation
        self.conv1 = nn.Conv2d(inputs, filters, kernel_size, padding=padding)
        self.batchnorm = nn.BatchNorm2d(filters, affine=False)

    def forward(self, x):
        x = self.batchnorm(self.conv1(x))
        if self.activation == 'relu':
            return F.relu(x)
        return x


class Multiresblock(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.conv_1x1 = ConvBatchnorm(inputs, 3 * filters, 1, activation='None')
        self.conv_3x3 = ConvBatchnorm(inputs, filters, 3, padding=1)
        self.conv_5x5 = ConvBatchnorm(filters, filters, 3, padding=1)
        self.conv_7x7 = ConvBatchnorm(filters, filters, 3, padding=1)
        self.batch_norm1 = nn.BatchNorm2d(3 * filters, affine=False)

    def forward(self, x):
        temp = self.conv_1x1(x)
        a = self.conv_3x3(x)
        b = self.conv_5x5(a)
        c = self.conv_7x7(b)
        x = self.batch_norm1(torch.cat([a, b, c], axis=1))
        return self.batch_norm1(x + temp)


class Respath(nn.Module):
    def __init__(self, inputs, filters, length):
        super().__init__()
        sizes = [inputs] + [filters] * length
        self.shortcuts = nn.ModuleList([ConvBatchnorm(s, filters, 1, activation='None') for s in sizes[:-1]])
        self.convs = nn.ModuleList([ConvBatchnorm(s, filters, 3, padding=1) for s in sizes[:-1]])
        self.batch_norm1 = nn.BatchNorm2d(filters, affine=False)

    def forward(self, x):
        for conv_1x1, conv_3x3 in zip(self.shortcuts, self.convs):
            shortcut = conv_1x1(x)
            x = conv_3x3(x)
            x += shortcut
            x = F.relu(x)
            x = self.batch_norm1(x)
        return x


class MultiResUnet(nn.Module):
    def __init__(self, channels=1, filters=4, nclasses=1):
        super().__init__()
        self.block1, self.respath1 = Multiresblock(channels, filters), Respath(3 * filters, filters, 2)
        self.pool = nn.MaxPool2d(2)
        self.block2 = Multiresblock(3 * filters, 2 * filters)
        self.up = nn.ConvTranspose2d(6 * filters, filters, 2, 2)
        self.block3 = Multiresblock(2 * filters, filters)
        self.conv_final = ConvBatchnorm(3 * filters, nclasses, 1, activation='None')

    def forward(self, x):
        x1 = self.block1(x)
        x2 = self.block2(self.pool(x1))
        up = torch.cat([self.up(x2), self.respath1(x1)], axis=1)
        return torch.sigmoid(self.conv_final(self.block3(up)))


model = MultiResUnet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images = torch.rand(4, 1, 16, 16)
masks = (images > 0.5).float()

# %%
for epoch in range(2):
    loss = F.binary_cross_entropy(model(images), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
