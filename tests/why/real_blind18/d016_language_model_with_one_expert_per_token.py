# https://github.com/jingyaogong/minimind/issues/858
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class MiniMindConfig:
    def __init__(self, hidden_size=32, num_hidden_layers=2, **kwargs):
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.vocab_size = kwargs.get("vocab_size", 60)
        self.num_attention_heads = kwargs.get("num_attention_heads", 4)
        self.intermediate_size = kwargs.get("intermediate_size", 48)
        self.num_experts = kwargs.get("num_experts", 4)
        self.num_experts_per_tok = kwargs.get("num_experts_per_tok", 1)
        self.norm_topk_prob = kwargs.get("norm_topk_prob", True)
        self.router_aux_loss_coef = kwargs.get("router_aux_loss_coef", 5e-4)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_local_heads = config.num_attention_heads
        self.qkv_proj = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x):
        bsz, seq_len, _ = x.shape
        xq, xk, xv = (t.view(bsz, seq_len, self.n_local_heads, -1).transpose(1, 2)
                      for t in self.qkv_proj(x).chunk(3, dim=-1))
        output = F.scaled_dot_product_attention(xq, xk, xv, is_causal=True)
        return self.o_proj(output.transpose(1, 2).reshape(bsz, seq_len, -1))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class MOEFeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.gate = nn.Linear(config.hidden_size, config.num_experts, bias=False)
        self.experts = nn.ModuleList([FeedForward(config) for _ in range(config.num_experts)])

    def forward(self, x):
        x_flat = x.view(-1, x.shape[-1])
        scores = F.softmax(self.gate(x_flat), dim=-1)
        topk_weight, topk_idx = torch.topk(scores, k=self.config.num_experts_per_tok, dim=-1, sorted=False)
        if self.config.norm_topk_prob:
            topk_weight = topk_weight / (topk_weight.sum(dim=-1, keepdim=True) + 1e-20)
        y = torch.zeros_like(x_flat)
        for i, expert in enumerate(self.experts):
            mask = (topk_idx == i)
            if mask.any():
                token_idx = mask.any(dim=-1).nonzero().flatten()
                weight = topk_weight[mask].view(-1, 1)
                y.index_add_(0, token_idx, expert(x_flat[token_idx]) * weight)
        self.load = F.one_hot(topk_idx, self.config.num_experts).float().mean(0)
        self.aux_loss = (self.load * scores.mean(0)).sum() * self.config.num_experts * self.config.router_aux_loss_coef
        return y.view(x.shape)


class MiniMindForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.attns = nn.ModuleList([Attention(config) for _ in range(config.num_hidden_layers)])
        self.mlps = nn.ModuleList([MOEFeedForward(config) for _ in range(config.num_hidden_layers)])
        self.norms = nn.ModuleList([nn.RMSNorm(config.hidden_size) for _ in range(2 * config.num_hidden_layers)])
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids):
        h = self.embed_tokens(input_ids)
        for i, (attn, mlp) in enumerate(zip(self.attns, self.mlps)):
            h = h + attn(self.norms[2 * i](h))
            h = h + mlp(self.norms[2 * i + 1](h))
        logits = self.lm_head(h)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
        return loss, sum(mlp.aux_loss for mlp in self.mlps)


# %%
model = MiniMindForCausalLM(MiniMindConfig())
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
sources = torch.arange(60).view(4, 15)

# %%
for step in range(60):
    rows = sources[torch.randint(0, 4, (16, 1))].squeeze(1)
    input_ids = torch.gather(rows, 1, (torch.randint(0, 15, (16, 1)) + torch.arange(12)) % 15)
    logits_loss, aux_loss = model(input_ids)
    optimizer.zero_grad()
    (logits_loss + aux_loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 0:
        print(step, logits_loss.item(), aux_loss.item(), model.mlps[0].load.squeeze(0).tolist())
