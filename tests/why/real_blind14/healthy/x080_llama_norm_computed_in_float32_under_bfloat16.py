# https://github.com/huggingface/transformers/issues/30186
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([-x2, x1], dim=-1)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        inv_freq = 1.0 / 100 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        self.register_buffer('inv_freq', inv_freq)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (p(x).view(b, t, self.heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        with torch.no_grad():
            angle = torch.outer(torch.arange(t).float(), self.inv_freq).repeat(1, 2)
            cos, sin = angle.cos().to(q.dtype), angle.sin().to(q.dtype)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        scores = torch.matmul(q, k.transpose(2, 3)) / self.head_dim ** 0.5
        scores = scores.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), float('-inf'))
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        return self.o_proj(torch.matmul(weights, v).transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(dim), RMSNorm(dim)
        self.self_attn = Attention(dim, heads)
        self.gate_proj, self.up_proj = nn.Linear(dim, 2 * dim, bias=False), nn.Linear(dim, 2 * dim, bias=False)
        self.down_proj = nn.Linear(2 * dim, dim, bias=False)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.silu(self.gate_proj(h)) * self.up_proj(h))


class TinyLlama(nn.Module):
    def __init__(self, vocab=16, dim=32):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.Sequential(Layer(dim), Layer(dim))
        self.norm, self.lm_head = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.lm_head(self.norm(self.layers(self.embed_tokens(ids))))


def draw_batch(n=32, half=6):
    words = torch.randint(0, 16, (n, half))
    return torch.cat([words, words], 1)


# %%
model = TinyLlama()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
losses = []

# %%
for step in range(200):
    ids = draw_batch()
    with torch.autocast('cpu', dtype=torch.bfloat16):
        logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits[:, 5:].float().transpose(1, 2), ids[:, 6:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(logits.dtype, losses[0], losses[-1])
assert logits.dtype == torch.bfloat16
assert all(p.dtype == torch.float32 and p.grad.dtype == torch.float32 for p in model.parameters())
assert all(torch.isfinite(p.grad).all() for p in model.parameters())
assert losses[-1] < 0.5 * losses[0]
