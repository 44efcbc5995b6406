# https://github.com/KimMeen/Time-LLM/issues/143
import argparse
import math
from math import sqrt

import torch
import torch.nn as nn

torch.manual_seed(0)


class LlamaModel(nn.Module):
    def __init__(self, vocab_size=60, dim=32, layers=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, activation='gelu', batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(self, inputs_embeds):
        return self.layers(inputs_embeds)


class Normalize(nn.Module):
    def forward(self, x, mode):
        if mode == 'norm':
            self.mean = torch.mean(x, dim=1, keepdim=True).detach()
            self.stdev = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + 1e-5).detach()
            return (x - self.mean) / self.stdev
        return x * self.stdev + self.mean


class FlattenHead(nn.Module):
    def __init__(self, nf, target_window, head_dropout=0):
        super().__init__()
        self.flatten = nn.Flatten(start_dim=-2)
        self.linear = nn.Linear(nf, target_window)
        self.dropout = nn.Dropout(head_dropout)

    def forward(self, x):
        return self.dropout(self.linear(self.flatten(x)))


class ReprogrammingLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_keys=None, d_llm=None, attention_dropout=0.1):
        super(ReprogrammingLayer, self).__init__()
        self.query_projection = nn.Linear(d_model, d_keys * n_heads)
        self.key_projection = nn.Linear(d_llm, d_keys * n_heads)
        self.value_projection = nn.Linear(d_llm, d_keys * n_heads)
        self.out_projection = nn.Linear(d_keys * n_heads, d_llm)
        self.n_heads = n_heads
        self.dropout = nn.Dropout(attention_dropout)

    def forward(self, target_embedding, source_embedding, value_embedding):
        B, L, _ = target_embedding.shape
        S, _ = source_embedding.shape
        H = self.n_heads
        target_embedding = self.query_projection(target_embedding).view(B, L, H, -1)
        source_embedding = self.key_projection(source_embedding).view(S, H, -1)
        value_embedding = self.value_projection(value_embedding).view(S, H, -1)
        scores = torch.einsum("blhe,she->bhls", target_embedding, source_embedding)
        A = self.dropout(torch.softmax(scores / sqrt(target_embedding.size(-1)), dim=-1))
        return self.out_projection(torch.einsum("bhls,she->blhe", A, value_embedding).reshape(B, L, -1))


class Model(nn.Module):
    def __init__(self, configs, patch_len=8, stride=4):
        super(Model, self).__init__()
        self.pred_len, self.seq_len, self.d_ff = configs.pred_len, configs.seq_len, configs.d_ff
        self.patch_len, self.stride = patch_len, stride
        self.llm_model = LlamaModel()
        for param in self.llm_model.parameters():
            param.requires_grad = False

        self.patch_embedding = nn.Linear(patch_len, configs.d_model)
        self.word_embeddings = self.llm_model.get_input_embeddings().weight
        self.vocab_size = self.word_embeddings.shape[0]
        self.mapping_layer = nn.Linear(self.vocab_size, 20)
        self.reprogramming_layer = ReprogrammingLayer(configs.d_model, 4, 8, 32)
        self.patch_nums = int((configs.seq_len - patch_len) / stride + 1)
        self.output_projection = FlattenHead(self.d_ff * self.patch_nums, self.pred_len)
        self.normalize_layers = Normalize()

    def forward(self, x_enc):
        x_enc = self.normalize_layers(x_enc, 'norm')
        trends = x_enc.diff(dim=1).sum(dim=1)
        prompt = torch.cat([torch.arange(5).expand(len(x_enc), 5), 5 + (trends > 0).long()], dim=1)
        prompt_embeddings = self.llm_model.get_input_embeddings()(prompt)  # (batch, prompt_token, dim)
        source_embeddings = self.mapping_layer(self.word_embeddings.permute(1, 0)).permute(1, 0)

        enc_out = self.patch_embedding(x_enc.squeeze(2).unfold(1, self.patch_len, self.stride))
        enc_out = self.reprogramming_layer(enc_out, source_embeddings, source_embeddings)
        llama_enc_out = torch.cat([prompt_embeddings, enc_out], dim=1)
        dec_out = self.llm_model(inputs_embeds=llama_enc_out)
        dec_out = dec_out[:, :, :self.d_ff]
        dec_out = dec_out.permute(0, 2, 1).contiguous()
        dec_out = self.output_projection(dec_out[:, :, -self.patch_nums:]).unsqueeze(2)
        return self.normalize_layers(dec_out, 'denorm')


def series(n):
    t = torch.arange(40.)
    x = torch.sin(2 * math.pi * t / (8 + 8 * torch.rand(n, 1)) + 6 * torch.rand(n, 1)) * (1 + torch.rand(n, 1)) + 3 * torch.rand(n, 1)
    return x[:, :32, None], x[:, 32:, None]


# %%
model = Model(argparse.Namespace(pred_len=8, seq_len=32, d_ff=16, d_model=16))
trained_parameters = []
for p in model.parameters():
    if p.requires_grad is True:
        trained_parameters.append(p)
model_optim = torch.optim.Adam(trained_parameters, lr=4e-3)
criterion = nn.MSELoss()
llm_before = [p.clone() for p in model.llm_model.parameters()]
train_loss = []

# %%
for i in range(130):
    model_optim.zero_grad()
    batch_x, batch_y = series(32)
    outputs = model(batch_x)
    loss = criterion(outputs, batch_y)
    train_loss.append(loss.item())
    loss.backward()
    model_optim.step()

# %%
model.eval()
with torch.no_grad():
    batch_x, batch_y = series(256)
    test_loss = criterion(model(batch_x), batch_y).item()
    by_mean = criterion(batch_x.mean(1, keepdim=True).expand_as(batch_y), batch_y).item()
llm_same = all(torch.equal(a, b) for a, b in zip(llm_before, model.llm_model.parameters()))
reached = min(p.grad.abs().sum().item() for n, p in model.named_parameters() if p.requires_grad and 'key_projection.bias' not in n)
print(train_loss[0], train_loss[-1], test_loss, by_mean, llm_same, reached)
assert llm_same and reached > 0 and test_loss < 0.4 * by_mean
