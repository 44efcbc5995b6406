# https://github.com/zou-longkun/GAST/issues/3
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


class domain_classifier(nn.Module):
    def __init__(self, input_dim, num_class=2):
        super().__init__()
        self.mlp1 = nn.Linear(input_dim, 16)
        self.mlp2 = nn.Linear(16, num_class)

    def forward(self, x):
        return self.mlp2(F.leaky_relu(self.mlp1(x)))


class DGCNN(nn.Module):
    def __init__(self, num_class=4, dim=8):
        super().__init__()
        self.point_mlp = nn.Linear(3, dim)
        self.cls_C = nn.Linear(dim, num_class)
        self.domain_C = domain_classifier(dim)

    def forward(self, x, alpha=1.0):
        x = torch.tanh(self.point_mlp(x)).amax(dim=1)
        x.retain_grad()
        cls_logits = {"feature": x}
        cls_logits["cls"] = self.cls_C(x)
        cls_logits["domain_cls"] = self.domain_C(x)
        return cls_logits


# %%
model = DGCNN()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    src, trgt = torch.randn(16, 32, 3), 0.7 + torch.randn(16, 32, 3)
    src_label = torch.randint(0, 4, (16,))
    opt.zero_grad()
    src_logits, trgt_logits = model(src), model(trgt)
    loss_cls = F.cross_entropy(src_logits["cls"], src_label)
    loss_domain = F.cross_entropy(src_logits["domain_cls"], torch.zeros(16, dtype=torch.long)) \
        + F.cross_entropy(trgt_logits["domain_cls"], torch.ones(16, dtype=torch.long))
    loss = loss_cls + loss_domain
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss_cls.item(), loss_domain.item())

# what the feature of the target is told by the domain loss, and which way makes that loss smaller
feature = trgt_logits["feature"].detach().requires_grad_()
downhill = torch.autograd.grad(F.cross_entropy(model.domain_C(feature), torch.ones(16, dtype=torch.long)), feature)[0]
told = trgt_logits["feature"].grad
agreement = F.cosine_similarity(told.flatten(), downhill.flatten(), dim=0).item()
print("domain loss", loss_domain.item(), "agreement", agreement)
