# https://github.com/facebookresearch/fairseq2/pull/733
import torch
from torch import nn
from torch.autograd import Function

torch.manual_seed(0)


def scale_gradient(x, scale):
    """Scale the gradient of ``x`` during backpropagation."""
    return _GradientScaleFunction.apply(x, scale)


class _GradientScaleFunction(Function):
    @staticmethod
    def forward(ctx, x, scale):
        if not x.dtype.is_floating_point:
            raise TypeError(f"`x` must be a float tensor, but is a `{x.dtype}` tensor instead.")

        ctx.scale = scale

        return x.detach().clone().requires_grad_(True)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None


# %%
encoder = nn.Linear(10, 16)
head = nn.Linear(16, 4)
optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)
seqs, targets = torch.randn(12, 10), torch.randint(0, 4, (12,))

# %%
for step in range(3):
    features = scale_gradient(torch.relu(encoder(seqs)), 0.1)
    loss = nn.functional.cross_entropy(head(features), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
