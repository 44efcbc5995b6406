# https://github.com/pytorch/pytorch/issues/53348
import torch

torch.manual_seed(0)


def reference(ma, mb):
    res = ma @ mb
    (res ** 2).sum().backward()
    return ma.grad.clone(), mb.grad.clone()


# %%
ma = torch.randn(2, 3, 3, 4).requires_grad_(True)
mb = torch.randn(2, 3, 4, 5).requires_grad_(True)
grad_a, grad_b = reference(ma, mb)
print(grad_a.shape, grad_b.shape)
ma.grad = mb.grad = None

# %%
B, C, H, W = ma.shape
B, C, W, K = mb.shape
res_torch = torch.zeros((B, C, H, K), requires_grad=True)
print(res_torch.shape)

# %%
for b in range(B):
    for c in range(C):
        for h in range(H):
            for k in range(K):
                for r in range(W):
                    res_torch[b][c][h][k] = res_torch[b][c][h][k] + ma[b][c][h][r] * mb[b][c][r][k]
(res_torch ** 2).sum().backward()
print((ma.grad - grad_a).abs().max(), (mb.grad - grad_b).abs().max())
