# https://github.com/lucidrains/vit-pytorch/issues/289
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DistillableViT(nn.Module):
    def __init__(self, dim=16, num_classes=5):
        super().__init__()
        self.to_patch_embedding = nn.Linear(12, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.transformer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.mlp_head = nn.Linear(dim, num_classes)

    def forward(self, img, distill_token):
        x = self.to_patch_embedding(img)
        b = x.shape[0]
        x = torch.cat((self.cls_token.expand(b, -1, -1), x, distill_token.expand(b, -1, -1)), dim=1)
        x = self.transformer(x)
        return self.mlp_head(x[:, 0]), x[:, -1]


class DistillWrapper(nn.Module):
    def __init__(self, *, teacher, student, temperature=1., alpha=0.5, dim=16, num_classes=5):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.temperature, self.alpha = temperature, alpha
        self.distillation_token = nn.Parameter(torch.randn(1, 1, dim))
        self.distill_mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, img, labels):
        alpha, T = self.alpha, self.temperature
        with torch.no_grad():
            teacher_logits = self.teacher(img)
        student_logits, distill_tokens = self.student(img, distill_token=self.distillation_token)
        distill_logits = self.distill_mlp(distill_tokens)
        loss = F.cross_entropy(student_logits, labels)
        distill_loss = F.kl_div(
            F.log_softmax(distill_logits / T, dim=-1),
            F.softmax(teacher_logits / T, dim=-1).detach(),
            reduction='batchmean')
        distill_loss *= T ** 2
        return loss * (1 - alpha) + distill_loss * alpha


# %%
teacher = nn.Sequential(nn.Flatten(), nn.Linear(9 * 12, 5))
v = DistillableViT()
distiller = DistillWrapper(student=v, teacher=teacher, temperature=3, alpha=0.5)
opt = torch.optim.Adam([p for n, p in distiller.named_parameters() if not n.startswith("teacher")], lr=5e-3)
img, labels = torch.randn(32, 9, 12), torch.randint(0, 5, (32,))

# %%
losses = []
for step in range(30):
    loss = distiller(img, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0] and v.cls_token.grad.abs().sum() > 0
assert distiller.distillation_token.grad.abs().sum() > 0
assert all(p.grad is None for p in teacher.parameters())
