# https://github.com/DmitryUlyanov/deep-image-prior/blob/master/denoising.ipynb
import torch
from torch import nn

torch.manual_seed(0)
img_noisy_torch = torch.rand(1, 3, 12, 12)
net = nn.Sequential(nn.Conv2d(4, 16, 3, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(0.2), nn.Conv2d(16, 3, 1), nn.Sigmoid())
net_input = torch.rand(1, 4, 12, 12) * 0.1
net_input_saved = net_input.detach().clone()
noise = net_input.detach().clone()
mse = nn.MSELoss()
reg_noise_std, exp_weight = 1. / 30., 0.99
out_avg = None
last_net = None
i = 0


# %%
def closure():
    global i, out_avg, last_net, net_input, total_loss

    if reg_noise_std > 0:
        net_input = net_input_saved + (noise.normal_() * reg_noise_std)

    out = net(net_input)

    # Smoothing
    if out_avg is None:
        out_avg = out.detach()
    else:
        out_avg = out_avg * exp_weight + out.detach() * (1 - exp_weight)

    total_loss = mse(out, img_noisy_torch)
    total_loss.backward()

    # Backtracking
    last_net = [x.detach().cpu() for x in net.parameters()]
    i += 1
    return total_loss


# %%
optimizer = torch.optim.Adam([x for x in net.parameters()], lr=0.01)
for j in range(5):
    optimizer.zero_grad()
    closure()
    optimizer.step()
print(total_loss.item(), mse(out_avg, img_noisy_torch).item())
