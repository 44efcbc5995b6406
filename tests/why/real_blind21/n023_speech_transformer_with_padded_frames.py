# https://github.com/sooftware/kospeech/issues/37
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def get_pad_mask(inputs, input_lengths):
    batch_size = inputs.size(0)
    pad_mask = inputs.new_zeros(inputs.size()[:-1])  # N x T
    for i in range(batch_size):
        pad_mask[i, input_lengths[i]:] = 1
    return pad_mask.unsqueeze(-1).bool()


def get_subsequent_mask(inputs):
    batch_size, seq_length = inputs.size()
    subsequent_mask = torch.triu(torch.ones((seq_length, seq_length), dtype=torch.uint8), diagonal=1)
    return subsequent_mask.unsqueeze(0).expand(batch_size, -1, -1).bool()  # BxTxT


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dim):
        super(ScaledDotProductAttention, self).__init__()
        self.sqrt_dim = np.sqrt(dim)

    def forward(self, query, key, value, mask=None):
        score = torch.bmm(query, key.transpose(1, 2)) / self.sqrt_dim
        if mask is not None:
            score.masked_fill_(mask, -np.inf)
        attn = F.softmax(score, -1)
        return torch.bmm(attn, value), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model=16, num_heads=2):
        super(MultiHeadAttention, self).__init__()
        self.d_head, self.num_heads = d_model // num_heads, num_heads
        self.query_proj, self.key_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.value_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.scaled_dot = ScaledDotProductAttention(self.d_head)

    def split(self, x):
        batch_size, length, _ = x.size()
        x = x.view(batch_size, length, self.num_heads, self.d_head).permute(2, 0, 1, 3)
        return x.reshape(self.num_heads * batch_size, length, self.d_head)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)
        query, key, value = self.split(self.query_proj(query)), self.split(self.key_proj(key)), self.split(self.value_proj(value))
        if mask is not None:
            mask = mask.repeat(self.num_heads, 1, 1)
        context, attn = self.scaled_dot(query, key, value, mask)
        context = context.view(self.num_heads, batch_size, -1, self.d_head).permute(1, 2, 0, 3)
        return self.out_proj(context.reshape(batch_size, -1, self.num_heads * self.d_head))


class SpeechTransformer(nn.Module):
    def __init__(self, num_classes, d_model=16, input_dim=20, d_ff=32):
        super(SpeechTransformer, self).__init__()
        self.input_proj, self.input_norm = nn.Linear(input_dim, d_model), nn.LayerNorm(d_model)
        self.embedding = nn.Embedding(num_classes, d_model)
        self.encoder_attention, self.encoder_norm = MultiHeadAttention(d_model), nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.decoder_attention, self.decoder_norm = MultiHeadAttention(d_model), nn.LayerNorm(d_model)
        self.memory_attention, self.memory_norm = MultiHeadAttention(d_model), nn.LayerNorm(d_model)
        self.generator = nn.Linear(d_model, num_classes)

    def forward(self, inputs, input_lengths, targets):
        self_attn_mask = get_pad_mask(inputs, input_lengths)
        x = self.input_norm(self.input_proj(inputs))
        x = self.encoder_norm(x + self.encoder_attention(x, x, x, self_attn_mask))
        memory = x + self.feed_forward(x)
        y = self.embedding(targets)
        y = self.decoder_norm(y + self.decoder_attention(y, y, y, get_subsequent_mask(targets)))
        y = self.memory_norm(y + self.memory_attention(y, memory, memory))
        return F.log_softmax(self.generator(y), dim=-1)


# %%
model = SpeechTransformer(num_classes=10)
criterion = nn.NLLLoss(ignore_index=0, reduction='mean')
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# %%
for step in range(3):
    inputs = torch.rand((4, 12, 20))
    input_lengths = torch.tensor([12, 11, 9, 7])
    targets = torch.randint(1, 10, (4, 6))
    logit = model(inputs, input_lengths, targets[:, :-1])
    loss = criterion(logit.reshape(-1, 10), targets[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
