# https://github.com/huggingface/transformers/pull/15326
import math

import torch
from torch import nn

torch.manual_seed(0)


class Config:
    vocab_size, dim, n_heads, n_layers, hidden_dim = 100, 32, 4, 2, 37
    max_position_embeddings, num_labels, dropout = 64, 3, 0.1


class Embeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.dim)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.dim)
        self.LayerNorm = nn.LayerNorm(config.dim, eps=1e-12)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, input_ids):
        position_ids = torch.arange(input_ids.size(1)).expand_as(input_ids)
        embeddings = self.word_embeddings(input_ids) + self.position_embeddings(position_ids)
        return self.dropout(self.LayerNorm(embeddings))


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_heads = config.n_heads
        self.dim = config.dim
        self.dropout = nn.Dropout(p=config.dropout)
        self.q_lin = nn.Linear(config.dim, config.dim)
        self.k_lin = nn.Linear(config.dim, config.dim)
        self.v_lin = nn.Linear(config.dim, config.dim)
        self.out_lin = nn.Linear(config.dim, config.dim)

    def forward(self, query, key, value, mask):
        bs, q_length, dim = query.size()
        k_length = key.size(1)
        dim_per_head = self.dim // self.n_heads

        def shape(x):
            """separate heads"""
            return x.view(bs, -1, self.n_heads, dim_per_head).transpose(1, 2)

        q = shape(self.q_lin(query)) / math.sqrt(dim_per_head)
        k = shape(self.k_lin(key))
        v = shape(self.v_lin(value))

        scores = torch.matmul(q, k.transpose(2, 3))  # (bs, n_heads, q_length, k_length)
        mask = (mask == 0).view(bs, 1, 1, k_length).expand_as(scores)
        scores = scores.masked_fill(mask, -float("inf"))

        weights = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(weights, v)
        return self.out_lin(context.transpose(1, 2).contiguous().view(bs, q_length, self.dim))


class TransformerBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadSelfAttention(config)
        self.sa_layer_norm = nn.LayerNorm(config.dim, eps=1e-12)
        self.ffn = nn.Sequential(nn.Linear(config.dim, config.hidden_dim), nn.GELU(),
                                 nn.Linear(config.hidden_dim, config.dim))
        self.output_layer_norm = nn.LayerNorm(config.dim, eps=1e-12)

    def forward(self, x, attn_mask):
        x = self.sa_layer_norm(self.attention(x, x, x, attn_mask) + x)
        return self.output_layer_norm(self.ffn(x) + x)


class DistilBertForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.layer = nn.ModuleList([TransformerBlock(config) for _ in range(config.n_layers)])
        self.classifier = nn.Linear(config.dim, config.num_labels)

    def forward(self, input_ids, attention_mask, labels):
        hidden_state = self.embeddings(input_ids)
        for layer_module in self.layer:
            hidden_state = layer_module(hidden_state, attention_mask)
        logits = self.classifier(hidden_state[:, 0])
        return nn.functional.cross_entropy(logits, labels), logits


# %%
model = DistilBertForSequenceClassification(Config())
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
lengths = torch.randint(2, 11, (40, 8))
lengths[12, 3] = 0

# %%
losses = []
for step in range(40):
    input_ids = torch.randint(1, 100, (8, 10))
    attention_mask = (torch.arange(10) < lengths[step][:, None]).long()
    labels = input_ids[:, 0] % 3
    loss, logits = model(input_ids, attention_mask, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 5 == 0:
        print(step, loss.item())
