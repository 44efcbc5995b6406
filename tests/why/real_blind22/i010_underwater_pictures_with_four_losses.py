# https://github.com/Mdraqibkhan/Phaseformer/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, width=8):
        super(Net, self).__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.outL = nn.Conv2d(width, 3, 3, 2, padding=1)
        self.outH = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        y = self.body(x)
        return self.outL(y), self.outH(y)


class Gradient_Loss(nn.Module):
    def __init__(self):
        super(Gradient_Loss, self).__init__()

        kernel_g = [[[0,1,0],[1,-4,1],[0,1,0]],
                    [[0,1,0],[1,-4,1],[0,1,0]],
                    [[0,1,0],[1,-4,1],[0,1,0]]]
        kernel_g = torch.FloatTensor(kernel_g).unsqueeze(0).permute(1, 0, 2, 3)
        self.weight_g = nn.Parameter(data=kernel_g, requires_grad=False)

    def forward(self, x, xx):
        gradient_x = F.conv2d(x, self.weight_g, groups=3)
        gradient_xx = F.conv2d(xx, self.weight_g, groups=3)
        return nn.L1Loss()(gradient_x, gradient_xx)


class Perceptual_Loss(nn.Module):
    def __init__(self):
        super(Perceptual_Loss, self).__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3)).eval()
        for param in self.features.parameters():
            param.requires_grad = False

    def forward(self, x, y):
        return F.mse_loss(self.features(x), self.features(y))


class CharbonnierLoss(nn.Module):
    """Charbonnier Loss (L1)"""

    def __init__(self, eps=1e-3):
        super(CharbonnierLoss, self).__init__()
        self.eps = eps

    def forward(self, x, y):
        diff = x - y
        loss = torch.mean(torch.sqrt((diff * diff) + (self.eps*self.eps)))
        return loss


class WeightedLoss(nn.Module):
    """ Weighted Loss for upsampled and downsampled images loss"""

    def __init__(self, num_weights):
        super(WeightedLoss, self).__init__()
        self.num_weights = num_weights
        self.weights = nn.Parameter(torch.rand(1, num_weights))
        self.softmax_l = nn.Softmax(dim=1)

    def forward(self, *argv):
        loss = 0
        weights = self.softmax_l(self.weights)
        for idx, arg in enumerate(argv):
            loss += arg*weights[0, idx]
        return loss


# %%
# Define dynmaic weights for losses
N = 4 #number of losses
Weighted_Loss4 = WeightedLoss(N)
Weighted_Loss2 = WeightedLoss(2)

# Define losses
Gradient_Loss = Gradient_Loss()
L_per = Perceptual_Loss()
Charbonnier_loss = CharbonnierLoss()
Smooth_loss = nn.SmoothL1Loss()

net_g = Net()
optimizer_g = optim.Adam(net_g.parameters(), lr=0.005, betas=(0.9, 0.999))
start4 = Weighted_Loss4.weights.detach().clone()

# %%
for iteration in range(1, 41):
    tarH = F.interpolate(torch.rand(4, 3, 4, 4), size=16, mode='bilinear')
    tarL = F.avg_pool2d(tarH, 2)
    rgb = tarH * torch.tensor([0.4, 0.8, 1.0]).view(1, 3, 1, 1) + 0.05 * torch.randn_like(tarH)
    fake_b, fake_b1 = net_g(rgb)
    optimizer_g.zero_grad()

    loss_g_L = Weighted_Loss4(Charbonnier_loss(tarL, fake_b), L_per(fake_b, tarL), Gradient_Loss(fake_b, tarL), Smooth_loss(fake_b, tarL))
    loss_g_H = Weighted_Loss4(Charbonnier_loss(tarH, fake_b1), L_per(fake_b1, tarH), Gradient_Loss(fake_b1, tarH), Smooth_loss(fake_b1, tarH))
    loss_g = Weighted_Loss2(loss_g_L, loss_g_H)
    loss_g.backward()
    optimizer_g.step()
    if iteration % 20 == 0:
        print(f"===> Iteration {iteration}: Loss_G: {loss_g.item()}")
print(start4, Weighted_Loss4.weights.data)
