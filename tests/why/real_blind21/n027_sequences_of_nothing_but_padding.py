# https://github.com/pytorch/pytorch/issues/24816
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TransformerEncoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=16, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, src, src_key_padding_mask=None):
        src2, weights = self.self_attn(src, src, src, key_padding_mask=src_key_padding_mask)
        src = self.norm1(src + self.dropout(src2))
        src2 = self.linear2(self.dropout(F.relu(self.linear1(src))))
        return self.norm2(src + self.dropout(src2))


class TransformerEncoder(nn.Module):
    def __init__(self, make_layer, num_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])

    def forward(self, src, src_key_padding_mask=None):
        for layer in self.layers:
            src = layer(src, src_key_padding_mask=src_key_padding_mask)
        return src


class SentencesOfDocuments(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = TransformerEncoder(lambda: TransformerEncoderLayer(3, 1), 2)
        self.out = nn.Linear(3, 2)

    def forward(self, x, y):
        output = self.model(src=x.transpose(0, 1), src_key_padding_mask=y).transpose(0, 1)
        output[torch.isnan(output)] = 0
        return self.out(output.mean(1))


# %%
x = torch.Tensor([[[1, 2, 3], [0, 5, 6]], [[-1, -2, 0], [-4, -5, 0]], [[1, 2, 3], [0, 5, 6]], [[-1, -2, 0], [-4, -5, 0]]])
y = torch.tensor([[0, 0], [1, 0], [1, 1], [1, 1]]).bool()
label = torch.tensor([0, 1, 0, 1])
print(x.size(), y.size())

# %%
net = SentencesOfDocuments()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for iteration in range(3):
    optimizer.zero_grad()
    logits = net(x, y)
    loss = F.cross_entropy(logits, label)
    loss.backward()
    optimizer.step()
    print(iteration, loss.item(), logits)
