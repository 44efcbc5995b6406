# https://github.com/YXNTU/GeneralDyG/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CustomTransformerEncoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=64, dropout=0.1):
        super(CustomTransformerEncoderLayer, self).__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, src, raw_src, src_key_padding_mask=None):
        # Q, K from src, V from raw_src
        src2 = self.self_attn(src, src, raw_src, key_padding_mask=src_key_padding_mask)[0]
        src = self.norm1(src + src2)
        src2 = self.linear2(F.relu(self.linear1(src)))
        return self.norm2(src + src2)


class TransformerBinaryClassifier(nn.Module):
    def __init__(self, input_dim, n_heads, hidden_size=64):
        super(TransformerBinaryClassifier, self).__init__()
        self.encoder_layer = CustomTransformerEncoderLayer(d_model=input_dim, nhead=n_heads, dim_feedforward=hidden_size)
        self.bn = nn.BatchNorm1d(input_dim)
        self.classifier = nn.Linear(input_dim, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, raw_input, GNN_output, mask):
        GNN_output = GNN_output.transpose(0, 1)
        raw_input = raw_input.transpose(0, 1)
        transformer_output = self.encoder_layer(GNN_output, raw_input, src_key_padding_mask=mask)
        transformer_output = transformer_output.transpose(0, 1)

        filtered_output = [out[~m] for out, m in zip(transformer_output, mask)]
        averaged_tensors = [tensor.mean(dim=0) for tensor in filtered_output]
        mean_output = self.bn(torch.stack(averaged_tensors))

        logits = self.classifier(mean_output)
        logits = self.sigmoid(logits).squeeze()

        return logits


def criterion(logits, labels):
    loss_classify = F.binary_cross_entropy_with_logits(logits, labels, reduction='none')
    loss_classify = torch.mean(loss_classify)
    return loss_classify


# %%
model = TransformerBinaryClassifier(input_dim=16, n_heads=4)
gnn = nn.Linear(16, 16)
optimizer = torch.optim.Adam(list(model.parameters()) + list(gnn.parameters()), lr=5e-3)

labels = (torch.arange(32) % 2).float()
edges = torch.randn(32, 6, 16)
edges[:, :, 0] += 4 * (2 * labels - 1).unsqueeze(1)
mask_edge = torch.zeros(32, 6, dtype=torch.bool)
mask_edge[:, 4:] = torch.rand(32, 2) < 0.5

m_loss = []
for epoch in range(150):
    model.train()
    optimizer.zero_grad()
    logits = model(edges, gnn(edges), mask_edge)
    loss = criterion(logits, labels)
    loss.backward()
    optimizer.step()
    m_loss.append(loss.item())
    if epoch % 30 == 0:
        print('epoch', epoch, 'loss', m_loss[-1])
