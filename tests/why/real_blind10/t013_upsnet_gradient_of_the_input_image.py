# https://github.com/uber-research/UPSNet/issues/24
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class resnet_upsnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.fcn_head = nn.Conv2d(8, 5, 1)
        self.rcnn = nn.Linear(8, 3)

    def forward(self, data, label=None):
        res = self.backbone(data['data'])
        fcn_output = self.fcn_head(res)
        cls_score = self.rcnn(res.mean((2, 3)))
        output = {
            'seg_loss': F.cross_entropy(fcn_output, label['seg_gt']),
            'cls_loss': F.cross_entropy(cls_score, label['cls_label']),
        }
        return output


def adjust_learning_rate(optimizer, it):
    for param_group in optimizer.param_groups:
        param_group['lr'] = 0.01 * 0.1 ** (it // 5)


# %%
train_model = resnet_upsnet()
optimizer = torch.optim.SGD(train_model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
train_iterator = [({'data': torch.rand(2, 3, 16, 16), 'im_info': (16, 16, 1.0)},
                   {'seg_gt': torch.randint(0, 5, (2, 8, 8)), 'cls_label': torch.randint(0, 3, (2,))})
                  for _ in range(3)]

# %%
train_model.train()
for i_iter, (data, label) in enumerate(train_iterator):
    adjust_learning_rate(optimizer, i_iter)
    optimizer.zero_grad()
    output = train_model(data, label)
    loss = output['seg_loss'] + output['cls_loss']
    loss.backward()
    print(i_iter, loss.item(), data['data'].grad)
    optimizer.step()
