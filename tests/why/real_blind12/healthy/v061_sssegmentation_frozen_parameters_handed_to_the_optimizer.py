# https://github.com/SegmentationBLWX/sssegmentation/issues/54
import torch
import torch.nn as nn
import torch.optim as optim
import torch.nn.functional as F

torch.manual_seed(0)


class DefaultParamsConstructor():
    def __init__(self, params_rules={}, filter_params=False, optimizer_cfg=None):
        self.params_rules = params_rules
        self.filter_params = filter_params
        self.optimizer_cfg = optimizer_cfg

    def __call__(self, model):
        param_groups = []
        self.groupparams(model, param_groups)
        return param_groups

    def groupparams(self, model, param_groups, prefix=''):
        for name, param in model.named_parameters(recurse=False):
            if self.filter_params and not param.requires_grad:
                continue
            group = {'params': [param], 'name': prefix + name,
                     'lr': self.optimizer_cfg['lr'], 'weight_decay': self.optimizer_cfg['weight_decay']}
            for key, (lr_multi, wd_multi) in self.params_rules.items():
                if group['name'].startswith(key):
                    group['lr'] *= lr_multi
                    group['weight_decay'] *= wd_multi
            param_groups.append(group)
        for child_name, child in model.named_children():
            self.groupparams(child, param_groups, prefix + child_name + '.')


class Segmentor(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone_net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(),
                                          nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.decoder = nn.Sequential(nn.Conv2d(16, 16, 1), nn.ReLU(), nn.Conv2d(16, num_classes, 1))
        self.freeze()

    def freeze(self):
        for p in self.backbone_net.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.decoder(self.backbone_net(x))


# %%
segmentor = Segmentor()
cfg = {'lr': 0.2, 'momentum': 0.9, 'weight_decay': 5e-4}
constructor = DefaultParamsConstructor({'decoder': (1., 1.), 'backbone_net': (0.1, 1.)}, False, cfg)
optimizer = optim.SGD(constructor(segmentor), lr=cfg['lr'], momentum=cfg['momentum'])
seg_targets = torch.randint(0, 3, (8, 2, 2)).repeat_interleave(5, 1).repeat_interleave(5, 2)
images = torch.eye(3)[seg_targets].permute(0, 3, 1, 2) + 0.3 * torch.randn(8, 3, 10, 10)
backbone_before = [p.detach().clone() for p in segmentor.backbone_net.parameters()]

# %%
losses_log = []
for cur_iter in range(60):
    optimizer.zero_grad()
    outputs = segmentor(images)
    loss = F.cross_entropy(outputs, seg_targets)
    loss.backward()
    optimizer.step()
    losses_log.append(loss.item())
print(losses_log[0], losses_log[-1])
assert losses_log[-1] < 0.8 * losses_log[0]
assert all(torch.equal(a, b) for a, b in zip(backbone_before, segmentor.backbone_net.parameters()))
