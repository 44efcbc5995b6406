# https://github.com/open-mmlab/mmpose/issues/2788
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RTMCCHead(nn.Module):
    def __init__(self, in_channels, num_classes=3):
        super().__init__()
        self.final_layer = nn.Conv2d(in_channels, 8, 3, padding=1)
        self.cls = nn.Linear(8, num_classes)
        self.mlp_x = nn.Linear(8, 16)

    def forward(self, feats):
        feats = self.final_layer(feats).mean((2, 3))
        return self.mlp_x(feats), self.cls(feats)

    def loss(self, feats, gt_x, gt_cls):
        pred_x, pre_cls = self.forward(feats)
        losses = dict()
        pre_cls1 = torch.tensor(pre_cls, device=gt_x.device)
        losses["loss_cls"] = F.cross_entropy(pre_cls1, gt_cls)
        return losses


def parse_losses(losses):
    log_vars = [(name, value.mean()) for name, value in losses.items()]
    return sum(value for _, value in log_vars), dict(log_vars)


# %%
head = RTMCCHead(4)
optimizer = torch.optim.AdamW(head.parameters(), lr=4e-3, weight_decay=0.0)

# %%
losses = head.loss(torch.randn(2, 4, 6, 6), torch.rand(2, 16), torch.tensor([0, 2]))
parsed_losses, log_vars = parse_losses(losses)
optimizer.zero_grad()
parsed_losses.backward()
optimizer.step()
