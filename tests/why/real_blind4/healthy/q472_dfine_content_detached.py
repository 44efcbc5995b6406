# https://github.com/Peterande/D-FINE/issues/121
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        h = [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip([input_dim] + h, h + [output_dim]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if i < len(self.layers) - 1 else layer(x)
        return x


class DFINETransformer(nn.Module):
    def __init__(self, num_classes=4, hidden_dim=16, num_queries=5):
        super().__init__()
        self.num_queries = num_queries
        self.enc_output = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.LayerNorm(hidden_dim))
        self.enc_score_head = nn.Linear(hidden_dim, num_classes)
        self.enc_bbox_head = MLP(hidden_dim, hidden_dim, 4, 3)
        self.query_pos_head = MLP(4, 2 * hidden_dim, hidden_dim, 2)
        self.decoder_layer = nn.TransformerDecoderLayer(hidden_dim, 2, 2 * hidden_dim, dropout=0.0, batch_first=True)
        self.dec_score_head = nn.Linear(hidden_dim, num_classes)
        self.dec_bbox_head = MLP(hidden_dim, hidden_dim, 4, 3)

    def _get_decoder_input(self, memory):
        output_memory = self.enc_output(memory)
        enc_outputs_logits = self.enc_score_head(output_memory)
        _, topk_ind = torch.topk(enc_outputs_logits.max(-1).values, self.num_queries, dim=-1)
        enc_topk_memory = output_memory.gather(1, topk_ind.unsqueeze(-1).expand(-1, -1, output_memory.shape[-1]))
        enc_topk_logits = enc_outputs_logits.gather(1, topk_ind.unsqueeze(-1).expand(-1, -1, enc_outputs_logits.shape[-1]))
        enc_topk_bbox_unact = self.enc_bbox_head(enc_topk_memory)
        enc_topk_bboxes = F.sigmoid(enc_topk_bbox_unact)
        # the decoder starts from here, without a way back
        content = enc_topk_memory.detach()
        enc_topk_bbox_unact = enc_topk_bbox_unact.detach()
        return content, enc_topk_bbox_unact, enc_topk_bboxes, enc_topk_logits

    def forward(self, memory):
        content, ref_points_unact, enc_bboxes, enc_logits = self._get_decoder_input(memory)
        ref_points = F.sigmoid(ref_points_unact)
        query = content + self.query_pos_head(ref_points)
        out = self.decoder_layer(query, memory)
        boxes = F.sigmoid(self.dec_bbox_head(out) + ref_points_unact)
        return {'pred_logits': self.dec_score_head(out), 'pred_boxes': boxes, 'enc_logits': enc_logits, 'enc_boxes': enc_bboxes}


class DFINE(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.decoder = DFINETransformer()

    def forward(self, x):
        x = self.backbone(x)
        return self.decoder(self.encoder(x.flatten(2).transpose(1, 2)))


# %%
model = DFINE()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for i in range(2):
    samples = torch.rand(2, 3, 16, 16)
    boxes, labels = torch.rand(2, 5, 4), torch.randint(4, (2, 5))
    outputs = model(samples)
    loss = F.l1_loss(outputs['pred_boxes'], boxes) + F.cross_entropy(outputs['pred_logits'].flatten(0, 1), labels.flatten())
    loss = loss + F.l1_loss(outputs['enc_boxes'], boxes) + F.cross_entropy(outputs['enc_logits'].flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    print(i, loss.item())
