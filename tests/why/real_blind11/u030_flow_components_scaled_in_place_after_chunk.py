# https://github.com/pytorch/pytorch/issues/46820
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def resize_flow(flow, new_shape):
    _, _, h, w = flow.shape
    new_h, new_w = new_shape
    flow = F.interpolate(flow, (new_h, new_w), mode='bilinear', align_corners=True)
    u_scale = new_w / float(w)
    v_scale = new_h / float(h)
    u, v = flow.chunk(2, dim=1)
    u *= u_scale
    v *= v_scale
    return torch.cat([u, v], dim=1)


class FlowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(6, 16, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, stride=2, padding=1)
        self.predict_flow = nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, im1, im2):
        x = torch.cat([im1, im2], dim=1)
        x = F.leaky_relu(self.conv2(F.leaky_relu(self.conv1(x), 0.1)), 0.1)
        return self.predict_flow(x)


def epe(flow, gt):
    return torch.norm(flow - gt, p=2, dim=1).mean()


# %%
net = FlowNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
im1, im2 = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
gt = torch.randn(2, 2, 32, 32)
flow = net(im1, im2)
print(flow.shape)

# %%
for step in range(2):
    flow = net(im1, im2)
    full = resize_flow(flow, (32, 32))
    loss = epe(full, gt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
