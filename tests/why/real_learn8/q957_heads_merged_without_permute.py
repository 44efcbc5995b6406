# https://github.com/jsbaan/transformer-from-scratch/pull/6
import torch
from torch import nn

torch.manual_seed(0)


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_dim = hidden_dim // num_heads
        self.qkv_proj = nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.o_proj = nn.Linear(hidden_dim, hidden_dim, bias=False)

    def forward(self, x, mask):
        batch_size, sequence_length, hidden_dim = x.size()
        qkv = self.qkv_proj(x)
        qkv = qkv.reshape(batch_size, sequence_length, self.num_heads, 3 * self.qkv_dim)
        qkv = qkv.permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        logits = q @ k.transpose(-2, -1) / self.qkv_dim**0.5
        attention = logits.masked_fill(mask == 0, -1e9).softmax(-1)
        values = attention @ v
        values = values.reshape(batch_size, sequence_length, -1)
        return self.o_proj(values)


attn = MultiHeadAttention(8, 2)
optimizer = torch.optim.Adam(attn.parameters(), lr=0.01)
x, y = torch.randn(2, 3, 8, requires_grad=True), torch.randn(2, 3, 8)
mask = torch.eye(3)
for step in range(10):
    optimizer.zero_grad()
    loss = ((attn(x, mask) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
(grad,) = torch.autograd.grad(attn(x, mask)[0, 0].sum(), x)
print(grad[0])
