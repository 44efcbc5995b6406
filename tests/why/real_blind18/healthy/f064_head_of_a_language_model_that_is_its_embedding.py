# https://github.com/huggingface/transformers/issues/2824
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Config:
    vocab_size, n_positions, n_embd, n_head, n_layer, initializer_range = 16, 12, 32, 4, 2, 0.02


class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(nn.init.normal_(torch.empty(nx, nf), std=0.02))
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.size()[:-1], self.nf)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        nx = config.n_embd
        self.n_head = config.n_head
        self.ln_1, self.ln_2 = nn.LayerNorm(nx), nn.LayerNorm(nx)
        self.c_attn, self.c_proj = Conv1D(3 * nx, nx), Conv1D(nx, nx)
        self.c_fc, self.mlp_proj = Conv1D(4 * nx, nx), Conv1D(nx, 4 * nx)
        n = config.n_positions
        self.register_buffer("bias", torch.tril(torch.ones(n, n)).view(1, 1, n, n))

    def attn(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.n_head, -1).transpose(1, 2) for z in self.c_attn(x).split(c, dim=2))
        w = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(v.size(-1))
        mask = self.bias[:, :, :t, :t]
        w = nn.Softmax(dim=-1)(w * mask - 1e4 * (1 - mask))
        return self.c_proj(torch.matmul(w, v).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))


class GPT2Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)

    def forward(self, input_ids):
        hidden_states = self.wte(input_ids) + self.wpe(torch.arange(input_ids.size(1)))
        for block in self.h:
            hidden_states = block(hidden_states)
        return self.ln_f(hidden_states)


class GPT2LMHeadModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = GPT2Model(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        for module in (self.transformer.wte, self.transformer.wpe, self.lm_head):
            module.weight.data.normal_(mean=0.0, std=config.initializer_range)
        self._tie_or_clone_weights(self.lm_head, self.transformer.wte)

    def _tie_or_clone_weights(self, output_embeddings, input_embeddings):
        output_embeddings.weight = input_embeddings.weight

    def forward(self, input_ids, labels=None):
        lm_logits = self.lm_head(self.transformer(input_ids))
        if labels is None:
            return lm_logits
        return nn.CrossEntropyLoss()(lm_logits[..., :-1, :].reshape(-1, lm_logits.size(-1)), labels[..., 1:].reshape(-1))


def counting(n):
    return (torch.randint(0, 16, (n, 1)) + torch.randint(1, 4, (n, 1)) * torch.arange(12)) % 16


# %%
model = GPT2LMHeadModel(Config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for step in range(100):
    input_ids = counting(32)
    loss = model(input_ids, labels=input_ids)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())

# %%
untied = GPT2LMHeadModel(Config)
untied.load_state_dict(model.state_dict())
untied.lm_head.weight = nn.Parameter(untied.transformer.wte.weight.detach().clone())
untied(input_ids, labels=input_ids).backward()
model(input_ids, labels=input_ids).backward()
same = torch.allclose(model.lm_head.weight.grad, untied.lm_head.weight.grad + untied.transformer.wte.weight.grad, atol=1e-5)
one = model.lm_head.weight is model.transformer.wte.weight
right = (model(x := counting(100)).argmax(-1)[:, 2:-1] == x[:, 3:]).float().mean().item()
print(losses[0], losses[-1], same, one, right)
assert same and one and right > 0.9
