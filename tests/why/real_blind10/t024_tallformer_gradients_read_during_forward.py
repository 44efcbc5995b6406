# https://github.com/klauscc/TALLFormer/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ChunkVideoSwin(nn.Module):
    def __init__(self, chunk_size=4):
        super().__init__()
        self.chunk_size = chunk_size
        self.patch_embed = nn.Conv3d(3, 8, (2, 4, 4), stride=(2, 4, 4))
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        feats = [self.patch_embed(c).mean((3, 4)) for c in x.split(self.chunk_size, dim=2)]
        return torch.cat(feats, dim=2).transpose(1, 2) + self.layer(torch.cat(feats, dim=2).transpose(1, 2))


class MemSingleStageDetector(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.backbone = ChunkVideoSwin()
        self.neck = nn.Linear(8, 16)
        self.head = nn.Linear(16, num_classes)
        self.seen = []

    def forward(self, imgs):
        feats = self.backbone(imgs)
        for name, param in self.backbone.named_parameters():
            print("name: ", name, "grad: ", param.grad)
            self.seen.append(param.grad)
        feats = F.relu(self.neck(feats))
        return self.head(feats)


class OptimizerHook:
    def __init__(self, optimizer, grad_clip=1.0):
        self.optimizer, self.grad_clip = optimizer, grad_clip

    def after_train_iter(self, model, loss):
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), self.grad_clip)
        self.optimizer.step()
        self.optimizer.zero_grad()


# %%
model = MemSingleStageDetector()
hook = OptimizerHook(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
imgs = torch.randn(2, 3, 8, 8, 8)
gt = torch.randint(0, 5, (2, 4))

for epoch in range(3):
    logits = model(imgs)
    loss = F.cross_entropy(logits.flatten(0, 1), gt.flatten())
    hook.after_train_iter(model, loss)
    print(epoch, loss.item())
