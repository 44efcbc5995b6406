# https://github.com/wonbeomjang/mobile-hair-segmentation-pytorch/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
device = 'cpu'


class ImageGradientLoss(nn.modules.loss._WeightedLoss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean'):
        super(ImageGradientLoss, self).__init__(size_average, reduce, reduction)
        self.sobel_kernel_x = torch.Tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]]).view((1, 1, 3, 3))
        self.sobel_kernel_y = torch.Tensor([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]]).view((1, 1, 3, 3))
        self.eps = 1e-6

    def forward(self, pred, gray_image):
        size = pred.size()
        pred = pred.argmax(1).view(size[0], 1, size[2], size[3]).float()
        I_x = F.conv2d(gray_image, self.sobel_kernel_x)
        G_x = F.conv2d(pred, self.sobel_kernel_x)

        I_y = F.conv2d(gray_image, self.sobel_kernel_y)
        G_y = F.conv2d(pred, self.sobel_kernel_y)

        G = torch.sqrt(torch.pow(G_x, 2) + torch.pow(G_y, 2) + self.eps)

        gradient = 1 - torch.pow(I_x * G_x + I_y * G_y, 2)
        image_gradient_loss = torch.sum(torch.mul(G, gradient)) / (torch.sum(G) + self.eps)
        return image_gradient_loss if image_gradient_loss > 0 else image_gradient_loss * 0


class HairMatteLoss(nn.Module):
    def __init__(self, gradient_loss_weight=0.5):
        super(HairMatteLoss, self).__init__()
        self.image_gradient_loss = ImageGradientLoss().to(device)
        self.bce_loss = nn.CrossEntropyLoss().to(device)
        self.gradient_loss_weight = gradient_loss_weight

    def forward(self, pred, mask, gray):
        bce = self.bce_loss(pred, mask)
        grad = self.image_gradient_loss(pred, gray)
        return bce + self.gradient_loss_weight * grad, grad


class MobileHairNet(nn.Module):
    def __init__(self):
        super(MobileHairNet, self).__init__()
        self.encode_layer = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.decode_layer = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 2, 1))

    def forward(self, x):
        return self.decode_layer(self.encode_layer(x))


# %%
net = MobileHairNet().to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = HairMatteLoss()
image, mask = torch.rand(2, 3, 16, 16), (torch.rand(2, 16, 16) > 0.5).long()
gray_image = image.mean(1, keepdim=True)

for step in range(3):
    pred = net(image)
    net.zero_grad()
    loss, image_gradient_loss = criterion(pred, mask, gray_image)
    loss.backward()
    optimizer.step()
    print("loss: %.4f image gradient: %.4f" % (loss.item(), image_gradient_loss.item()))
