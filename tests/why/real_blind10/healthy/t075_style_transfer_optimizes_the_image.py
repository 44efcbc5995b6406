# https://github.com/leongatys/PytorchNeuralStyleTransfer/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

torch.manual_seed(0)


class VGG(nn.Module):
    def __init__(self):
        super(VGG, self).__init__()
        self.conv1_1 = nn.Conv2d(3, 8, kernel_size=3, padding=1)
        self.conv2_1 = nn.Conv2d(8, 16, kernel_size=3, padding=1)
        self.pool1 = nn.AvgPool2d(kernel_size=2, stride=2)

    def forward(self, x, out_keys):
        out = {}
        out['r11'] = F.relu(self.conv1_1(x))
        out['p1'] = self.pool1(out['r11'])
        out['r21'] = F.relu(self.conv2_1(out['p1']))
        return [out[key] for key in out_keys]


# gram matrix and loss
class GramMatrix(nn.Module):
    def forward(self, input):
        b,c,h,w = input.size()
        F = input.view(b, c, h*w)
        G = torch.bmm(F, F.transpose(1,2))
        G.div_(h*w)
        return G


class GramMSELoss(nn.Module):
    def forward(self, input, target):
        out = nn.MSELoss()(GramMatrix()(input), target)
        return(out)


# %%
vgg = VGG()
for param in vgg.parameters():
    param.requires_grad = False
style_image, content_image = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
opt_img = content_image.clone().requires_grad_(True)

style_layers, content_layers = ['r11', 'r21'], ['r21']
loss_layers = style_layers + content_layers
loss_fns = [GramMSELoss()] * len(style_layers) + [nn.MSELoss()] * len(content_layers)
weights = [1e3, 1e3, 1e0]
style_targets = [GramMatrix()(A).detach() for A in vgg(style_image, style_layers)]
content_targets = [A.detach() for A in vgg(content_image, content_layers)]
targets = style_targets + content_targets

# run style transfer
max_iter, show_iter = 20, 10
optimizer = optim.LBFGS([opt_img])
n_iter = [0]
history = []

# %%
while n_iter[0] <= max_iter:

    def closure():
        optimizer.zero_grad()
        out = vgg(opt_img, loss_layers)
        layer_losses = [weights[a] * loss_fns[a](A, targets[a]) for a, A in enumerate(out)]
        loss = sum(layer_losses)
        loss.backward()
        n_iter[0] += 1
        history.append(loss.item())
        if n_iter[0] % show_iter == (show_iter - 1):
            print('Iteration: %d, loss: %f' % (n_iter[0] + 1, loss.item()))
        return loss

    optimizer.step(closure)
