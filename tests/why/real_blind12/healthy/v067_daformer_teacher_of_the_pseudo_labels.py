# https://github.com/lhoyer/DAFormer/issues/59
import torch
import torch.nn as nn
import torch.nn.functional as F
from copy import deepcopy

torch.manual_seed(0)


class Segmentor(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU())
        self.decode_head = nn.Conv2d(16, num_classes, 1)

    def encode_decode(self, img):
        return self.decode_head(self.backbone(img))

    def forward_train(self, img, gt, seg_weight=None):
        loss = F.cross_entropy(self.encode_decode(img), gt, reduction='none')
        if seg_weight is not None:
            loss = loss * seg_weight
        return loss.mean()


class DACS(nn.Module):
    def __init__(self, alpha=0.9, pseudo_threshold=0.7):
        super().__init__()
        self.local_iter = 0
        self.alpha, self.pseudo_threshold = alpha, pseudo_threshold
        self.model = Segmentor()
        self.ema_model = deepcopy(self.model)

    def _init_ema_weights(self):
        for param in self.ema_model.parameters():
            param.detach_()
        for p, mp in zip(self.model.parameters(), self.ema_model.parameters()):
            mp.data[:] = p.data[:].clone()

    def _update_ema(self, iter):
        alpha_teacher = min(1 - 1 / (iter + 1), self.alpha)
        for ema_param, param in zip(self.ema_model.parameters(), self.model.parameters()):
            ema_param.data[:] = alpha_teacher * ema_param[:].data[:] + (1 - alpha_teacher) * param[:].data[:]

    def train_step(self, optimizer, img, gt, target_img):
        optimizer.zero_grad()
        if self.local_iter == 0:
            self._init_ema_weights()
        else:
            self._update_ema(self.local_iter)
        # train on the source
        clean_loss = self.model.forward_train(img, gt)
        clean_loss.backward()
        # pseudo labels of the teacher
        ema_logits = self.ema_model.encode_decode(target_img)
        ema_softmax = torch.softmax(ema_logits.detach(), dim=1)
        pseudo_prob, pseudo_label = torch.max(ema_softmax, dim=1)
        ps_weight = (pseudo_prob > self.pseudo_threshold).float().mean()
        pseudo_weight = ps_weight * torch.ones_like(pseudo_prob)
        # half of the classes of the source are pasted over the target
        mask = (gt == torch.randint(0, 3, (1,))).float()
        mixed_img = mask[:, None] * img + (1 - mask[:, None]) * target_img
        mixed_lbl = (mask * gt + (1 - mask) * pseudo_label).long()
        mixed_weight = mask + (1 - mask) * pseudo_weight
        mix_loss = self.model.forward_train(mixed_img, mixed_lbl, mixed_weight)
        mix_loss.backward()
        optimizer.step()
        self.local_iter += 1
        return clean_loss.item(), mix_loss.item()


# %%
dacs = DACS()
optimizer = torch.optim.AdamW(dacs.parameters(), lr=5e-3, weight_decay=0.01)
colors = torch.randn(3, 3)
logs = []

# %%
for it in range(50):
    gt, target_gt = torch.randint(0, 3, (2, 4, 6, 6)).unbind(0)
    img = colors[gt].permute(0, 3, 1, 2) + 0.1 * torch.randn(4, 3, 6, 6)
    target_img = 1.2 * colors[target_gt].permute(0, 3, 1, 2) + 0.2 + 0.1 * torch.randn(4, 3, 6, 6)
    logs.append(dacs.train_step(optimizer, img, gt, target_img))
print(logs[0], logs[-1])
assert logs[-1][0] < logs[0][0] * 0.6
assert all(p.grad is None and not p.requires_grad for p in dacs.ema_model.parameters())
assert dacs.model.backbone[0].weight.grad.abs().sum() > 0
