# https://github.com/lich99/ChatGLM-finetune-LoRA/issues/22
import math
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
lora_config = SimpleNamespace(r=4, lora_alpha=8, lora_dropout=0.0)


class LoRALinear(nn.Module):
    def __init__(self, linear, config):
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.weight.requires_grad = False
        self.bias.requires_grad = False
        self.lora_A = nn.Linear(linear.in_features, config.r, bias=False)
        self.lora_B = nn.Linear(config.r, linear.out_features, bias=False)
        self.lora_dropout = nn.Dropout(config.lora_dropout)
        self.scaling = config.lora_alpha / config.r
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        result = F.linear(x, self.weight, self.bias)
        return result + self.lora_B(self.lora_A(self.lora_dropout(x))) * self.scaling


class GLMBlock(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(hidden)
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, h):
        q, k, v = self.query_key_value(self.input_layernorm(h)).chunk(3, dim=-1)
        return h + self.dense(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class ChatGLM(nn.Module):
    def __init__(self, vocab=50, hidden=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, hidden)
        self.layers = nn.ModuleList(GLMBlock(hidden) for _ in range(2))
        self.lm_head = nn.Linear(hidden, vocab, bias=False)

    def forward(self, input_ids, labels):
        h = self.word_embeddings(input_ids)
        for layer in self.layers:
            h = layer(h)
        logits = self.lm_head(h)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


# %%
model = ChatGLM()
for p in model.parameters():
    p.requires_grad = False
for layer in model.layers:
    layer.query_key_value = LoRALinear(layer.query_key_value, lora_config)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

# %%
# debug with one example
input_ids = torch.randint(50, (1, 10))
loss = model(input_ids, input_ids)
loss.backward()
lora_A, lora_B = model.layers[0].query_key_value.lora_A, model.layers[0].query_key_value.lora_B
print('lora_A', lora_A.weight.grad.abs().sum(), 'lora_B', lora_B.weight.grad.abs().sum())
optimizer.step()
