# https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146
import torch
from torch import nn

torch.manual_seed(0)


class AttentionBlock(nn.Module):
    def __init__(self, n_channels, n_heads=1, d_k=4):
        super().__init__()
        self.projection = nn.Linear(n_channels, n_heads * d_k * 3)
        self.output = nn.Linear(n_heads * d_k, n_channels)
        self.scale = d_k**-0.5
        self.n_heads, self.d_k = n_heads, d_k

    def forward(self, x):
        batch_size, n, n_channels = x.shape
        qkv = self.projection(x).view(batch_size, -1, self.n_heads, 3 * self.d_k)
        q, k, v = torch.chunk(qkv, 3, dim=-1)
        attn = torch.einsum("bihd,bjhd->bijh", q, k) * self.scale
        attn = attn.softmax(dim=1)
        self.weights = attn.detach()
        res = torch.einsum("bijh,bjhd->bihd", attn, v)
        res = res.reshape(batch_size, -1, self.n_heads * self.d_k)
        return self.output(res) + x


block = AttentionBlock(6)
optimizer = torch.optim.Adam(block.parameters(), lr=0.01)
x, y = torch.randn(2, 5, 6), torch.randn(2, 5, 6)
for step in range(5):
    optimizer.zero_grad()
    loss = ((block(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
