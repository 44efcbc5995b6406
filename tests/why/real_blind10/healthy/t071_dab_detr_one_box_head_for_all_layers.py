# https://github.com/IDEA-Research/DAB-DETR/pull/17
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MLP(nn.Module):
    """ Very simple multi-layer perceptron (also called FFN)"""
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        self.num_layers = num_layers
        h = [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip([input_dim] + h, h + [output_dim]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < self.num_layers - 1 else layer(x)
        return x


def inverse_sigmoid(x, eps=1e-3):
    x = x.clamp(min=0, max=1)
    return torch.log(x.clamp(min=eps) / (1 - x).clamp(min=eps))


class DABDecoder(nn.Module):
    def __init__(self, d_model=16, num_layers=3, num_queries=5):
        super().__init__()
        self.refpoint_embed = nn.Embedding(num_queries, 4)
        self.tgt = nn.Embedding(num_queries, d_model)
        self.layers = nn.ModuleList([nn.TransformerDecoderLayer(d_model, 2, 32, 0.0, batch_first=True)
                                     for _ in range(num_layers)])
        bbox_embed = MLP(d_model, d_model, 4, 3)
        nn.init.constant_(bbox_embed.layers[-1].weight, 0)
        nn.init.constant_(bbox_embed.layers[-1].bias, 0)
        self.bbox_embed = nn.ModuleList([bbox_embed for i in range(num_layers)])

    def forward(self, memory):
        output = self.tgt.weight.expand(len(memory), -1, -1)
        reference_points = self.refpoint_embed.weight.sigmoid().expand(len(memory), -1, -1)
        boxes = []
        for layer_id, layer in enumerate(self.layers):
            output = layer(output, memory)
            tmp = self.bbox_embed[layer_id](output)
            new_reference_points = (tmp + inverse_sigmoid(reference_points)).sigmoid()
            boxes.append(new_reference_points)
            reference_points = new_reference_points.detach()
        return boxes


# %%
model = DABDecoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
memory, target = torch.randn(2, 9, 16), torch.rand(2, 5, 4)
for step in range(6):
    loss = sum(F.l1_loss(box, target) for box in model(memory))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    print(step, loss.item())
