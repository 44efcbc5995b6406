# https://github.com/karttikeya/minREV/issues/8
import torch
from torch import nn
from torch.autograd import Function as Function

torch.manual_seed(0)


class RevBackProp(Function):
    @staticmethod
    def forward(ctx, x, layers):
        X_1, X_2 = torch.chunk(x, 2, dim=-1)
        for layer in layers:
            X_1, X_2 = layer(X_1, X_2)
        ctx.save_for_backward(X_1.detach(), X_2.detach())
        ctx.layers = layers
        return torch.cat([X_1, X_2], dim=-1)

    @staticmethod
    def backward(ctx, dx):
        dX_1, dX_2 = torch.chunk(dx, 2, dim=-1)
        X_1, X_2 = ctx.saved_tensors
        for _, layer in enumerate(ctx.layers[::-1]):
            X_1, X_2, dX_1, dX_2 = layer.backward_pass(Y_1=X_1, Y_2=X_2, dY_1=dX_1, dY_2=dX_2)
        return torch.cat([dX_1, dX_2], dim=-1), None, None


class ReversibleBlock(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.F = AttentionSubBlock(dim=dim, num_heads=num_heads)
        self.G = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, X_1, X_2):
        Y_1 = X_1 + self.F(X_2)
        return Y_1, X_2 + self.G(Y_1)

    def backward_pass(self, Y_1, Y_2, dY_1, dY_2):
        with torch.enable_grad():
            Y_1.requires_grad = True
            g_Y_1 = self.G(Y_1)
            g_Y_1.backward(dY_2, retain_graph=True)
        with torch.no_grad():
            X_2 = Y_2 - g_Y_1
            dY_1 = dY_1 + Y_1.grad
            Y_1.grad = None
        with torch.enable_grad():
            X_2.requires_grad = True
            f_X_2 = self.F(X_2)
            f_X_2.backward(dY_1, retain_graph=True)
        with torch.no_grad():
            X_1 = Y_1 - f_X_2
            dY_2 = dY_2 + X_2.grad
            X_2.grad = None
        return X_1, X_2.detach(), dY_1, dY_2


class AttentionSubBlock(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(dim, eps=1e-6), nn.MultiheadAttention(dim, num_heads, batch_first=True)

    def forward(self, x):
        x = self.norm(x)
        return self.attn(x, x, x)[0]


class RevViT(nn.Module):
    def __init__(self, embed_dim=16, n_head=2, depth=3, patch_size=(2, 2), num_classes=4):
        super().__init__()
        self.layers = nn.ModuleList([ReversibleBlock(dim=embed_dim, num_heads=n_head) for _ in range(depth)])
        self.no_custom_backward = False
        self.patch_embed = nn.Conv2d(1, embed_dim, kernel_size=patch_size, stride=patch_size)
        self.pos_embeddings = nn.Parameter(torch.zeros(1, 16, embed_dim))
        self.head, self.norm = nn.Linear(2 * embed_dim, num_classes), nn.LayerNorm(2 * embed_dim)

    @staticmethod
    def vanilla_backward(h, layers):
        h, a = torch.chunk(h, 2, dim=-1)
        for _, layer in enumerate(layers):
            a, h = layer(a, h)
        return torch.cat([a, h], dim=-1)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embeddings
        x = torch.cat([x, x], dim=-1)
        executing_fn = RevViT.vanilla_backward if not self.training or self.no_custom_backward else RevBackProp.apply
        return self.head(self.norm(executing_fn(x, self.layers).mean(1)))


def quadrants(n):
    y = torch.randint(0, 4, (n,))
    corner = torch.nn.functional.one_hot(y, 4).float().view(n, 1, 2, 2)
    return 2 * corner.repeat_interleave(4, 2).repeat_interleave(4, 3) + 0.5 * torch.randn(n, 1, 8, 8), y


# %%
model = RevViT()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
losses = []
for step in range(100):
    inputs, targets = quadrants(32)
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
optimizer.zero_grad()
criterion(model(inputs), targets).backward()
rev_grads = [p.grad.clone() for p in model.parameters()]
model.no_custom_backward = True
vanilla = torch.autograd.grad(criterion(model(inputs), targets), list(model.parameters()))
same = all(torch.allclose(a, b, atol=1e-4) for a, b in zip(rev_grads, vanilla))
inputs, targets = quadrants(300)
accuracy = (model.eval()(inputs).argmax(1) == targets).float().mean().item()
print(losses[0], losses[-1], same, accuracy)
assert same and accuracy > 0.9
