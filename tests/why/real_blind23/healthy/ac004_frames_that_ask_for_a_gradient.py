# https://github.com/kmaninis/OSVOS-PyTorch/issues/22
import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F

torch.manual_seed(0)


def class_balanced_cross_entropy_loss(output, label, size_average=True):
    labels = torch.ge(label, 0.5).float()
    num_labels_pos = torch.sum(labels)
    num_labels_neg = torch.sum(1.0 - labels)
    num_total = num_labels_pos + num_labels_neg
    output_gt_zero = torch.ge(output, 0).float()
    loss_val = torch.mul(output, (labels - output_gt_zero)) - torch.log(
        1 + torch.exp(output - 2 * torch.mul(output, output_gt_zero)))
    loss_pos = torch.sum(-torch.mul(labels, loss_val))
    loss_neg = torch.sum(-torch.mul(1.0 - labels, loss_val))
    final_loss = num_labels_neg / num_total * loss_pos + num_labels_pos / num_total * loss_neg
    if size_average:
        final_loss /= output.numel()
    return final_loss


class OSVOS(nn.Module):
    def __init__(self):
        super(OSVOS, self).__init__()
        self.stages = nn.ModuleList([
            nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()),
            nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())])
        self.side_prep = nn.ModuleList([nn.Conv2d(8, 4, 3, padding=1), nn.Conv2d(16, 4, 3, padding=1)])
        self.score_dsn = nn.ModuleList([nn.Conv2d(4, 1, 1), nn.Conv2d(4, 1, 1)])
        self.fuse = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        size, side, side_out = x.shape[-2:], [], []
        for i, stage in enumerate(self.stages):
            x = stage(x)
            side_temp = self.side_prep[i](x)
            side.append(F.interpolate(side_temp, size, mode='bilinear', align_corners=False))
            side_out.append(F.interpolate(self.score_dsn[i](side_temp), size, mode='bilinear', align_corners=False))
        side_out.append(self.fuse(torch.cat(side, dim=1)))
        return side_out


# %%
frames, gts = torch.rand(20, 3, 16, 16) * 0.4, torch.zeros(20, 1, 16, 16)
for k in range(20):
    top, left = torch.randint(0, 8, (2,)).tolist()
    gts[k, :, top:top + 7, left:left + 7] = 1.0
    frames[k, :2, top:top + 7, left:left + 7] += 0.5
loader = torch.utils.data.DataLoader(
    [{'image': f, 'gt': g} for f, g in zip(frames, gts)], batch_size=1, shuffle=True)

# %%
net = OSVOS()
nEpochs, nAveGrad, aveGrad = 12, 5, 0
optimizer = optim.SGD([
    {'params': net.stages.parameters(), 'weight_decay': 0.0002},
    {'params': net.side_prep.parameters(), 'weight_decay': 0.0002},
    {'params': net.score_dsn.parameters(), 'lr': 0.05},
    {'params': net.fuse.parameters(), 'lr': 0.05}], lr=0.1, momentum=0.9)
loss_tr = []
for epoch in range(nEpochs):
    running_loss_tr = [0.0] * 3
    for ii, sample_batched in enumerate(loader):
        inputs, gts_b = sample_batched['image'], sample_batched['gt']
        inputs.requires_grad_()
        outputs = net.forward(inputs)
        losses = [0.0] * len(outputs)
        for i in range(0, len(outputs)):
            losses[i] = class_balanced_cross_entropy_loss(outputs[i], gts_b)
            running_loss_tr[i] += losses[i].item()
        loss = (1 - epoch / nEpochs) * sum(losses[:-1]) + losses[-1]
        loss /= nAveGrad
        loss.backward()
        aveGrad += 1
        if aveGrad % nAveGrad == 0:
            optimizer.step()
            optimizer.zero_grad()
            aveGrad = 0
    loss_tr.append(running_loss_tr[-1] / len(loader))
print(loss_tr[0], loss_tr[-1])
