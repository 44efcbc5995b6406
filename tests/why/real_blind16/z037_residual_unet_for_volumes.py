# https://github.com/fepegar/unet/issues/36
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvolutionalBlock(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=3, normalization=True, activation=True):
        super().__init__()
        layers = [nn.Conv3d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)]
        if normalization:
            layers.append(nn.BatchNorm3d(out_channels))
        if activation:
            layers.append(nn.ReLU())
        self.block = nn.Sequential(*layers)

    def forward(self, x):
        return self.block(x)


class ResidualBlock(nn.Module):
    def __init__(self, in_channels, out_channels, residual=True):
        super().__init__()
        self.residual = residual
        self.conv1 = ConvolutionalBlock(in_channels, out_channels)
        self.conv2 = ConvolutionalBlock(out_channels, out_channels)
        if residual:
            self.conv_residual = ConvolutionalBlock(in_channels, out_channels, 1, False, False)

    def forward(self, x):
        if self.residual:
            connection = self.conv_residual(x)
            x = self.conv1(x)
            x = self.conv2(x)
            x += connection
        else:
            x = self.conv2(self.conv1(x))
        return x


class UNet3D(nn.Module):
    def __init__(self, in_channels=1, out_classes=2, first=4, residual=True):
        super().__init__()
        self.encode = nn.ModuleList([ResidualBlock(in_channels, first, residual),
                                     ResidualBlock(first, 2 * first, residual)])
        self.bottom = ResidualBlock(2 * first, 4 * first, residual)
        self.decode = nn.ModuleList([ResidualBlock(6 * first, 2 * first, residual),
                                     ResidualBlock(3 * first, first, residual)])
        self.classifier = nn.Conv3d(first, out_classes, 1)

    def forward(self, x):
        skip_connections = []
        for block in self.encode:
            x = block(x)
            skip_connections.append(x)
            x = F.max_pool3d(x, 2)
        x = self.bottom(x)
        for block, skip in zip(self.decode, reversed(skip_connections)):
            x = F.interpolate(x, scale_factor=2, mode="trilinear", align_corners=False)
            x = block(torch.cat((skip, x), dim=1))
        return self.classifier(x)


def subjects(n=4, size=16):
    for _ in range(n):
        label = F.interpolate(torch.rand(2, 1, 4, 4, 4), size=size, mode="trilinear") > 0.55
        yield label.float() + 0.3 * torch.randn(2, 1, size, size, size), label.squeeze(1).long()


model = UNet3D(residual=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# %%
for batch_idx, (inputs, targets) in enumerate(subjects()):
    optimizer.zero_grad()
    logits = model(inputs)
    batch_loss = F.cross_entropy(logits, targets)
    batch_loss.backward()
    optimizer.step()
    print(batch_idx, batch_loss.item())
