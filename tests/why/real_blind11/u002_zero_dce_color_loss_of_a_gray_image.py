# https://github.com/Li-Chongyi/Zero-DCE_extension/issues/2
import torch
import torch.nn as nn

torch.manual_seed(0)


class L_color(nn.Module):
    def __init__(self):
        super(L_color, self).__init__()

    def forward(self, x ):
        b,c,h,w = x.shape
        mean_rgb = torch.mean(x,[2,3],keepdim=True)
        mr,mg, mb = torch.split(mean_rgb, 1, dim=1)
        Drg = torch.pow(mr-mg,2)
        Drb = torch.pow(mr-mb,2)
        Dgb = torch.pow(mb-mg,2)
        k = torch.pow(torch.pow(Drg,2) + torch.pow(Drb,2) + torch.pow(Dgb,2),0.5)
        return k


class L_exp(nn.Module):
    def __init__(self,patch_size):
        super(L_exp, self).__init__()
        self.pool = nn.AvgPool2d(patch_size)

    def forward(self, x, mean_val ):
        x = torch.mean(x,1,keepdim=True)
        mean = self.pool(x)
        d = torch.mean(torch.pow(mean- mean_val,2))
        return d


class enhance_net(nn.Module):
    def __init__(self):
        super().__init__()
        # one curve for all three colors
        self.e_conv1 = nn.Conv2d(3, 8, 3, 1, 1)
        self.e_conv2 = nn.Conv2d(8, 1, 3, 1, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        r = torch.tanh(self.e_conv2(self.relu(self.e_conv1(x))))
        for _ in range(4):
            x = x + r*(torch.pow(x,2)-x)
        return x, r


# %%
DCE_net = enhance_net()
L_color, L_exp = L_color(), L_exp(4)
optimizer = torch.optim.Adam(DCE_net.parameters(), lr=0.0001, weight_decay=0.0001)
img_lowlight = torch.rand(4, 3, 16, 16) * 0.3
# one of the photographs has no color
img_lowlight[1] = img_lowlight[1, :1]

# %%
for iteration in range(2):
    enhanced_image, A = DCE_net(img_lowlight)
    loss_col = 5*torch.mean(L_color(enhanced_image))
    loss_exp = 10*torch.mean(L_exp(enhanced_image, 0.6))
    loss = loss_col + loss_exp
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(DCE_net.parameters(), 0.1)
    optimizer.step()
    print("Loss at iteration", iteration+1, ":", loss.item())
