# https://github.com/pytorch/pytorch/issues/133854
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def torch_conv(x, weight):
    _, d_model, L = x.shape
    kernel_size = weight.shape[-1]
    y = F.conv1d(
        x,
        weight,
        bias=None,
        stride=1,
        padding=kernel_size - 1,
        groups=d_model,
    )
    y = y[..., :L]
    return y


class TwoPassGatedConv(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x1, x2, v, weight):
        kv = x2 * v
        out = torch_conv(kv, weight)
        ctx.save_for_backward(x1, x2, v)
        ctx.conv = kv, weight, out
        return x1 * out

    @staticmethod
    def backward(ctx, grad_y):
        x1, x2, v = ctx.saved_tensors
        kv, weight, out = ctx.conv
        grad_x1 = grad_y * out
        grad_kv, grad_weight = torch.autograd.grad(out, (kv, weight), grad_y * x1)
        return grad_x1, grad_kv * v, grad_kv * x2, grad_weight


class HyenaFilter(nn.Module):
    def __init__(self, d_model, hl=4, num_groups=4):
        super().__init__()
        self.num_groups = num_groups
        self.d_model = d_model
        self.h = nn.Parameter(torch.randn(num_groups, 1, hl) / hl)

    def forward(self):
        return self.h.repeat_interleave(self.d_model // self.num_groups, dim=0)


class HyenaSE(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.proj = nn.Linear(d_model, 3 * d_model)
        self.filter = HyenaFilter(d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, u):
        x1, x2, v = self.proj(u).transpose(1, 2).chunk(3, dim=1)
        y = TwoPassGatedConv.apply(x1, x2, v, self.filter())
        return self.out_proj(y.transpose(1, 2))


class Model(nn.Module):
    def __init__(self, vocab=8, d_model=16, n_layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.mixers = nn.ModuleList([HyenaSE(d_model) for _ in range(n_layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(n_layers)])
        self.head = nn.Linear(d_model, vocab)

    def forward(self, ids):
        h = self.embed(ids)
        for norm, mixer in zip(self.norms, self.mixers):
            h = h + mixer(norm(h))
        return self.head(h)


# %%
bs, seqlen = 4, 32
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
with torch.no_grad():
    print(model(torch.randint(0, 8, (bs, seqlen))).shape)

# %%
for step in range(3):
    ids = torch.randint(0, 8, (bs, seqlen))
    loss = F.cross_entropy(model(ids)[:, 1:].flatten(0, 1), ids[:, :-1].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
