# https://github.com/xuyuzhuang11/OneBit/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SignSTEFunc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return torch.sign(input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * (1.001 - torch.tanh(input) ** 2)


class BitLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        nn.init.kaiming_normal_(self.weight)
        self.in_channel_scale = nn.Parameter(torch.ones(in_features))
        self.out_channel_scale = nn.Parameter(torch.full((out_features,), in_features ** -0.5))
        self.layernorm = nn.LayerNorm(out_features, elementwise_affine=False)

    def forward(self, x):
        x = x * self.in_channel_scale
        x = F.linear(x, SignSTEFunc.apply(self.weight))
        return self.layernorm(x * self.out_channel_scale)


class FloatMLP(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.up_proj = linear(16, 64)
        self.down_proj = linear(64, 16)
        self.lm_head = nn.Linear(16, 5)

    def forward(self, x):
        hidden = self.down_proj(F.silu(self.up_proj(x)))
        return self.lm_head(hidden), hidden


# %%
x = torch.randn(512, 16)
y = (x @ torch.randn(16, 5)).argmax(1)
teacher = FloatMLP(nn.Linear)
optimizer = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for step in range(150):
    optimizer.zero_grad()
    F.cross_entropy(teacher(x)[0], y).backward()
    optimizer.step()
teacher.requires_grad_(False)
teacher.eval()

# %%
student = FloatMLP(BitLinear)
student.lm_head.load_state_dict(teacher.lm_head.state_dict())
optimizer = torch.optim.AdamW(student.parameters(), lr=4e-3, betas=(0.9, 0.98))
kd_loss_scale, losses = 1.0, []
signs_before = student.up_proj.weight.detach().sign()
for step in range(200):
    with torch.no_grad():
        teacher_logits, teacher_hidden = teacher(x)
    logits, hidden = student(x)
    ce = -(F.softmax(teacher_logits, -1) * F.log_softmax(logits, -1)).sum(-1).mean()
    mse = F.mse_loss(F.normalize(hidden, dim=-1), F.normalize(teacher_hidden, dim=-1))
    loss = ce + kd_loss_scale * mse
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
flipped = (student.up_proj.weight.sign() != signs_before).float().mean().item()
agreement = (logits.argmax(1) == teacher_logits.argmax(1)).float().mean().item()
print(losses[0], losses[-1], flipped, agreement)
