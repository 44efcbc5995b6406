# https://github.com/karttikeya/minREV/issues/7
import torch
from torch import nn
from torch.autograd import Function

torch.manual_seed(0)


def mlp_subblock(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))


class ReversibleBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.F, self.G = mlp_subblock(dim), mlp_subblock(dim)

    def forward(self, X_1, X_2):
        Y_1 = X_1 + self.F(X_2)
        return Y_1, X_2 + self.G(Y_1)

    def backward_pass(self, Y_1, Y_2, dY_1, dY_2):
        with torch.enable_grad():
            Y_1 = Y_1.detach().requires_grad_(True)
            g_Y_1 = self.G(Y_1)
            g_Y_1.backward(dY_2)
        X_2 = (Y_2 - g_Y_1).detach()
        dY_1 = dY_1 + Y_1.grad
        with torch.enable_grad():
            X_2.requires_grad_(True)
            f_X_2 = self.F(X_2)
            f_X_2.backward(dY_1)
        X_1 = (Y_1 - f_X_2).detach()
        return X_1, X_2.detach(), dY_1, dY_2 + X_2.grad


def vanilla_forward(x, layers):
    X_1, X_2 = torch.chunk(x, 2, dim=-1)
    for layer in layers:
        X_1, X_2 = layer(X_1, X_2)
    return torch.cat([X_1, X_2], dim=-1)


class RevBackProp(Function):
    @staticmethod
    def forward(ctx, x, layers):
        x = vanilla_forward(x, layers)
        ctx.save_for_backward(x.detach())  # those of the last layer alone are kept
        ctx.layers = layers
        return x

    @staticmethod
    def backward(ctx, dx):
        dX_1, dX_2 = torch.chunk(dx, 2, dim=-1)
        X_1, X_2 = torch.chunk(ctx.saved_tensors[0], 2, dim=-1)
        for layer in list(ctx.layers)[::-1]:
            X_1, X_2, dX_1, dX_2 = layer.backward_pass(X_1, X_2, dX_1, dX_2)
        return torch.cat([dX_1, dX_2], dim=-1), None


class RevMLP(nn.Module):
    def __init__(self, dim=16, depth=3, num_classes=4):
        super().__init__()
        self.embed = nn.Linear(8, dim)
        self.layers = nn.ModuleList([ReversibleBlock(dim) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(2 * dim), nn.Linear(2 * dim, num_classes))
        self.no_custom_backward = False

    def forward(self, x):
        x = self.embed(x)
        x = torch.cat([x, x], dim=-1)
        run = vanilla_forward if self.no_custom_backward else RevBackProp.apply
        return self.head(run(x, self.layers))


# %%
model = RevMLP()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
patterns = torch.randn(4, 8)
grads, losses = [], []
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for vanilla in (True, False):
    model.no_custom_backward = vanilla
    model.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    grads.append([p.grad.clone() for p in model.parameters()])

# %%
for step in range(80):
    y = torch.randint(0, 4, (32,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(patterns[y] + 0.8 * torch.randn(32, 8)), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1], max((a - b).abs().max().item() for a, b in zip(*grads)))
assert losses[-1] < 0.5 * losses[0]
assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*grads))
