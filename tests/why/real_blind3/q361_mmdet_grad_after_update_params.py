# https://github.com/open-mmlab/mmdetection/issues/11234
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class OptimWrapper:
    def __init__(self, optimizer, accumulative_counts=1):
        self.optimizer, self._accumulative_counts = optimizer, accumulative_counts

    def scale_loss(self, loss):
        return loss / self._accumulative_counts

    def update_params(self, loss):
        loss = self.scale_loss(loss)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class BaseModel(nn.Module):
    def parse_losses(self, losses):
        log_vars = {name: value.mean() for name, value in losses.items()}
        loss = sum(value for key, value in log_vars.items() if 'loss' in key)
        log_vars['loss'] = loss
        return loss, {k: v.item() for k, v in log_vars.items()}

    def train_step(self, data, optim_wrapper):
        losses = self(data['inputs'], data['data_samples'], mode='loss')
        parsed_losses, log_vars = self.parse_losses(losses)
        optim_wrapper.update_params(parsed_losses)
        for name, parms in self.named_parameters():
            print('-->name:', name)
            print('-->grad_requirs:', parms.requires_grad)
            print('-->grad_value:', parms.grad)
            print("===")
            break
        return log_vars


class Detector(BaseModel):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.bbox_head = nn.ModuleDict({'cls': nn.Conv2d(8, 4, 1), 'reg': nn.Conv2d(8, 4, 1)})

    def forward(self, inputs, data_samples, mode='loss'):
        x = F.relu(self.backbone(inputs))
        cls, reg = self.bbox_head['cls'](x), self.bbox_head['reg'](x)
        return dict(loss_cls=F.cross_entropy(cls, data_samples['labels'], reduction='none'),
                    loss_bbox=F.l1_loss(reg, data_samples['bboxes'], reduction='none'))


# %%
model = Detector()
optim_wrapper = OptimWrapper(torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9))
before = model.backbone.weight.detach().clone()
data = {'inputs': torch.randn(2, 3, 8, 8),
        'data_samples': {'labels': torch.randint(4, (2, 4, 4)), 'bboxes': torch.randn(2, 4, 4, 4)}}

# %%
for it in range(2):
    print(it, model.train_step(data, optim_wrapper))
