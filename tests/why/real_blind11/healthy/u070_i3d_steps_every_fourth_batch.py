# https://github.com/piergiaj/pytorch-i3d/issues/44
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim import lr_scheduler

torch.manual_seed(0)
num_steps_per_update = 4  # accum gradient


class InceptionI3d(nn.Module):
    def __init__(self, num_classes=6):
        super().__init__()
        self.conv = nn.Conv3d(3, 8, 3, stride=2, padding=1)
        self.logits = nn.Conv1d(8, num_classes, 1)

    def forward(self, x):
        h = F.relu(self.conv(x)).mean((3, 4))
        return self.logits(h)


def loss_of(per_frame_logits, labels):
    per_frame_logits = F.interpolate(per_frame_logits, labels.size(2), mode='linear')
    loc_loss = F.binary_cross_entropy_with_logits(per_frame_logits, labels)
    cls_loss = F.binary_cross_entropy_with_logits(torch.max(per_frame_logits, dim=2)[0], torch.max(labels, dim=2)[0])
    return 0.5 * loc_loss + 0.5 * cls_loss


# %%
i3d = InceptionI3d()
optimizer = optim.SGD(i3d.parameters(), lr=0.1, momentum=0.9, weight_decay=0.0000001)
lr_sched = lr_scheduler.MultiStepLR(optimizer, [300, 1000])
dataloader = [(torch.randn(2, 3, 8, 8, 8), (torch.rand(2, 6, 8) < 0.3).float()) for _ in range(12)]


# %%
steps, num_iter, tot_loss, printed = 0, 0, 0.0, []
for epoch in range(2):
    optimizer.zero_grad()
    for inputs, labels in dataloader:
        num_iter += 1
        loss = loss_of(i3d(inputs), labels) / num_steps_per_update
        tot_loss += loss.item()
        loss.backward()
        if num_iter == num_steps_per_update:
            steps += 1
            num_iter = 0
            optimizer.step()
            optimizer.zero_grad()
            lr_sched.step()
            printed.append(tot_loss)
            tot_loss = 0.
print(printed)
assert all(p.grad is None for p in i3d.parameters())
assert printed[-1] < printed[0]
