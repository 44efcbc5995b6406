# https://github.com/Haochen-Wang409/U2PL/issues/128
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ModelBuilder(nn.Module):
    def __init__(self, num_classes=3):
        super(ModelBuilder, self).__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.classifier = nn.Conv2d(16, num_classes, 1)
        self.representation = nn.Sequential(nn.Conv2d(16, 8, 1, bias=False), nn.BatchNorm2d(8))

    def forward(self, x):
        feat = self.encoder(x)
        return {"pred": self.classifier(feat), "rep": self.representation(feat)}


def compute_unsupervised_loss(predict, target, percent, pred_teacher):
    with torch.no_grad():
        prob = torch.softmax(pred_teacher, dim=1)
        entropy = -torch.sum(prob * torch.log(prob + 1e-10), dim=1)
        thresh = torch.quantile(entropy.flatten(), percent / 100)
        target[entropy.ge(thresh)] = 255
        weight = target.numel() / torch.sum(target != 255).clamp(min=1)
    return weight * F.cross_entropy(predict, target, ignore_index=255)


def compute_contra_loss(rep, label, rep_teacher, temp=0.5):
    label = F.interpolate(label[:, None].float(), rep.shape[2:], mode="nearest").long().flatten()
    rep, rep_teacher = rep.permute(0, 2, 3, 1).flatten(0, 2), rep_teacher.permute(0, 2, 3, 1).flatten(0, 2)
    counts = torch.stack([(label == c).sum() for c in range(3)]).clamp(min=1)
    prototype = torch.stack([rep_teacher[label == c].sum(0) for c in range(3)]) / counts[:, None]
    logits = F.cosine_similarity(rep[:, None], prototype[None], dim=2) / temp
    return F.cross_entropy(logits[label != 255], label[label != 255])


# %%
def pictures(n):
    labels, images = torch.zeros(n, 16, 16, dtype=torch.long), torch.rand(n, 3, 16, 16)
    for k in range(n):
        top, left = torch.randint(0, 8, (2,)).tolist()
        labels[k, top:top + 8, left:left + 8] = 1 + k % 2
        images[k, 1 + k % 2, top:top + 8, left:left + 8] += 0.6
    return images, labels


images_l, labels_l = pictures(8)
images_u, labels_u = pictures(40)
model, model_teacher = ModelBuilder(), ModelBuilder()
for p in model_teacher.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
cfg = {"epochs": 8, "sup_only_epoch": 2, "ema_decay": 0.95, "drop_percent": 80}

# %%
sup_losses, i_iter, iters = [], 0, 10
for epoch in range(cfg["epochs"]):
    model.train()
    for step in range(iters):
        chosen = torch.randint(0, 8, (4,))
        image_l, label_l = images_l[chosen], labels_l[chosen]
        image_u = images_u[torch.randint(0, 40, (8,))]
        if epoch < cfg["sup_only_epoch"]:
            outs = model(image_l)
            pred, rep = F.interpolate(outs["pred"], (16, 16), mode="bilinear", align_corners=True), outs["rep"]
            sup_loss = F.cross_entropy(pred, label_l)
            model_teacher.train()
            _ = model_teacher(image_l)
            unsup_loss = 0 * rep.sum()
            contra_loss = 0 * rep.sum()
        else:
            if epoch == cfg["sup_only_epoch"]:
                with torch.no_grad():
                    for t_params, s_params in zip(model_teacher.parameters(), model.parameters()):
                        t_params.data = s_params.data
            model_teacher.eval()
            pred_u_teacher = F.interpolate(model_teacher(image_u)["pred"], (16, 16), mode="bilinear", align_corners=True)
            logits_u_aug, label_u_aug = torch.max(F.softmax(pred_u_teacher, dim=1), dim=1)
            image_all = torch.cat((image_l, image_u + 0.1 * torch.randn_like(image_u)))
            outs = model(image_all)
            pred_all = F.interpolate(outs["pred"], (16, 16), mode="bilinear", align_corners=True)
            sup_loss = F.cross_entropy(pred_all[:4], label_l.clone())
            model_teacher.train()
            with torch.no_grad():
                out_t = model_teacher(image_all)
                pred_t = F.interpolate(out_t["pred"][4:], (16, 16), mode="bilinear", align_corners=True)
            percent = 100 - (100 - cfg["drop_percent"]) * (1 - epoch / cfg["epochs"])
            unsup_loss = compute_unsupervised_loss(pred_all[4:], label_u_aug.clone(), percent, pred_t.detach())
            contra_loss = 0.1 * compute_contra_loss(
                outs["rep"], torch.cat((label_l, label_u_aug)), out_t["rep"].detach())
        loss = sup_loss + unsup_loss + contra_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch >= cfg["sup_only_epoch"]:
            with torch.no_grad():
                ema_decay = min(1 - 1 / (i_iter - iters * cfg["sup_only_epoch"] + 1), cfg["ema_decay"])
                for t_params, s_params in zip(model_teacher.parameters(), model.parameters()):
                    t_params.data = ema_decay * t_params.data + (1 - ema_decay) * s_params.data
        i_iter += 1
        sup_losses.append(sup_loss.item())
shared = any(t.data_ptr() == s.data_ptr() for t, s in zip(model_teacher.parameters(), model.parameters()))
print(sup_losses[0], sup_losses[-1], unsup_loss.item(), contra_loss.item(), shared)
