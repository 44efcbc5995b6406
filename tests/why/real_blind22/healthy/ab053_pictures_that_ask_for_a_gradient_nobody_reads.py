# https://github.com/xu-ji/IIC/issues/5
import sys

import torch
import torch.nn as nn

torch.manual_seed(0)


def compute_joint(x_out, x_tf_out):
    # produces variable that requires grad (since args require grad)
    bn, k = x_out.size()
    assert (x_tf_out.size(0) == bn and x_tf_out.size(1) == k)
    p_i_j = x_out.unsqueeze(2) * x_tf_out.unsqueeze(1)  # bn, k, k
    p_i_j = p_i_j.sum(dim=0)  # k, k
    p_i_j = (p_i_j + p_i_j.t()) / 2.  # symmetrise
    p_i_j = p_i_j / p_i_j.sum()  # normalise
    return p_i_j


def IID_loss(x_out, x_tf_out, lamb=1.0, EPS=sys.float_info.epsilon):
    # has had softmax applied
    _, k = x_out.size()
    p_i_j = compute_joint(x_out, x_tf_out)

    p_i = p_i_j.sum(dim=1).view(k, 1).expand(k, k)
    p_j = p_i_j.sum(dim=0).view(1, k).expand(k, k)  # but should be same, symmetric

    # avoid NaN losses. Effect will get cancelled out by p_i_j tiny anyway
    p_i_j, p_j, p_i = (p.clamp(min=EPS) for p in (p_i_j, p_j, p_i))
    loss = - p_i_j * (torch.log(p_i_j) - lamb * torch.log(p_j) - lamb * torch.log(p_i))
    loss_no_lamb = - p_i_j * (torch.log(p_i_j) - torch.log(p_j) - torch.log(p_i))
    return loss.sum(), loss_no_lamb.sum()


class ClusterNet(nn.Module):
    def __init__(self, output_k=3, num_sub_heads=3):
        super(ClusterNet, self).__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                   nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Flatten())
        self.heads = nn.ModuleList(nn.Sequential(nn.Linear(16 * 25, output_k), nn.Softmax(dim=1)) for _ in range(num_sub_heads))

    def forward(self, x):
        x = self.trunk(x)
        return [head(x) for head in self.heads]


# %%
shapes = (torch.rand(3, 1, 10, 10) > 0.6).float()
kinds = torch.randint(0, 3, (192,))
data = shapes[kinds] + 0.2 * torch.randn(192, 1, 10, 10)
net = ClusterNet()
optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
num_dataloaders, num_sub_heads = 2, 3

# %%
epoch_loss = []
for e_i in range(15):
    avg_loss, avg_loss_count = 0., 0
    for imgs_curr in data[torch.randperm(192)].split(32):
        net.zero_grad()

        all_imgs = torch.zeros((32 * num_dataloaders, 1, 10, 10))
        all_imgs_tf = torch.zeros((32 * num_dataloaders, 1, 10, 10))
        for d_i in range(num_dataloaders):
            shift = torch.randint(-1, 2, (2,)).tolist()
            imgs_tf_curr = imgs_curr.roll(shift, (2, 3)) + 0.1 * torch.randn_like(imgs_curr)
            all_imgs[d_i * 32:(d_i + 1) * 32, :, :, :] = imgs_curr
            all_imgs_tf[d_i * 32:(d_i + 1) * 32, :, :, :] = imgs_tf_curr
        all_imgs.requires_grad_(True)
        all_imgs_tf.requires_grad_(True)

        x_outs = net(all_imgs)
        x_tf_outs = net(all_imgs_tf)

        avg_loss_batch = None  # avg over the heads
        for i in range(num_sub_heads):
            loss, loss_no_lamb = IID_loss(x_outs[i], x_tf_outs[i])
            if avg_loss_batch is None:
                avg_loss_batch = loss
            else:
                avg_loss_batch += loss
        avg_loss_batch /= num_sub_heads
        avg_loss += avg_loss_batch.item()
        avg_loss_count += 1

        avg_loss_batch.backward()
        optimiser.step()
    epoch_loss.append(avg_loss / avg_loss_count)

# %%
net.eval()
with torch.no_grad():
    flat = net(data)[0].argmax(1)
table = torch.stack([torch.bincount(flat[kinds == k], minlength=3) for k in range(3)])
print(epoch_loss[0], epoch_loss[-1], table.tolist())
