# https://github.com/argusswift/YOLOv4-pytorch/issues/247
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Mish(nn.Module):
    def __init__(self):
        super(Mish, self).__init__()

    def forward(self, x):
        return x * torch.tanh(F.softplus(x))


norm_name = {"bn": nn.BatchNorm2d}
activate_name = {"relu": nn.ReLU, "leaky": nn.LeakyReLU, "linear": nn.Identity, "mish": Mish}


class Convolutional(nn.Module):
    def __init__(self, filters_in, filters_out, kernel_size, stride=1, norm="bn", activate="relu"):
        super(Convolutional, self).__init__()
        self.norm = norm
        self.activate = activate
        self.__conv = nn.Conv2d(in_channels=filters_in, out_channels=filters_out, kernel_size=kernel_size, stride=stride,
                                padding=kernel_size // 2, bias=not norm)
        if norm:
            self.__norm = norm_name[norm](num_features=filters_out)
        if activate:
            if activate == "leaky":
                self.__activate = activate_name[activate](negative_slope=0.1, inplace=True)
            if activate == "relu":
                self.__activate = activate_name[activate](inplace=True)
            if activate == "mish":
                self.__activate = activate_name[activate]()

    def forward(self, x):
        x = self.__conv(x)
        if self.norm:
            x = self.__norm(x)
        if self.activate:
            x = self.__activate(x)
        return x


class CSPBlock(nn.Module):
    def __init__(self, in_channels, out_channels, hidden_channels=None, residual_activation="linear"):
        super(CSPBlock, self).__init__()
        if hidden_channels is None:
            hidden_channels = out_channels
        self.block = nn.Sequential(
            Convolutional(in_channels, hidden_channels, 1),
            Convolutional(hidden_channels, out_channels, 3),
        )
        self.activation = activate_name[residual_activation]()

    def forward(self, x):
        residual = x
        out = self.block(x)
        out += residual
        out = self.activation(out)
        return out


class CSPDarknet53(nn.Module):
    def __init__(self, feature_channels=(8, 16), num_classes=3):
        super(CSPDarknet53, self).__init__()
        self.stem_conv = Convolutional(3, feature_channels[0], 3)
        self.stages = nn.ModuleList([
            nn.Sequential(CSPBlock(feature_channels[0], feature_channels[0], 4), Convolutional(feature_channels[0], feature_channels[1], 3, 2)),
            nn.Sequential(CSPBlock(feature_channels[1], feature_channels[1]))])
        self.predict = nn.Conv2d(feature_channels[1], num_classes, 1)

    def forward(self, x):
        x = self.stem_conv(x)
        for stage in self.stages:
            x = stage(x)
        return self.predict(x)


# %%
model = CSPDarknet53()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
for i in range(2):
    imgs, label = torch.rand(2, 3, 16, 16), (torch.rand(2, 3, 8, 8) > 0.8).float()
    p = model(imgs)
    loss = F.binary_cross_entropy_with_logits(p, label)
    # Accumulate gradient for x batches before optimizing
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(i, loss.item())
