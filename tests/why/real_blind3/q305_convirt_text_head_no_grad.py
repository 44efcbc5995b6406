# https://github.com/edreisMD/ConVIRT-pytorch/issues/7
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BertModel(nn.Module):
    def __init__(self, vocab=40, hidden=12, layers=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, hidden)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers))

    def forward(self, input_ids, attention_mask):
        h = self.embeddings(input_ids)
        for layer in self.encoder.layer:
            h = h + torch.tanh(layer(h))
        return (h,)


class ModelCLR(nn.Module):
    def __init__(self, out_dim=6, freeze_layers=(0, 1)):
        super().__init__()
        self.bert_model = BertModel()
        for layer_idx in freeze_layers:
            for param in self.bert_model.encoder.layer[layer_idx].parameters():
                param.requires_grad = False
        # projection MLP of the text
        self.bert_l1 = nn.Linear(12, 12)
        self.bert_l2 = nn.Linear(12, out_dim)
        # image
        self.res_features = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.res_l1 = nn.Linear(8, 8)
        self.res_l2 = nn.Linear(8, out_dim)

    def mean_pooling(self, model_output, attention_mask):
        mask = attention_mask.unsqueeze(-1).float()
        return (model_output[0] * mask).sum(1) / mask.sum(1).clamp(min=1e-9)

    def image_encoder(self, xis):
        h = self.res_features(xis).flatten(1)
        return h, self.res_l2(F.relu(self.res_l1(h)))

    def text_encoder(self, encoded_inputs):
        outputs = self.bert_model(**encoded_inputs)

        with torch.no_grad():
            sentence_embeddings = self.mean_pooling(outputs, encoded_inputs['attention_mask'])
            x = self.bert_l1(sentence_embeddings)
            x = F.relu(x)
            out_emb = self.bert_l2(x)

        return out_emb

    def forward(self, xis, encoded_inputs):
        h, zis = self.image_encoder(xis)
        zls = self.text_encoder(encoded_inputs)
        return zis, zls


def nt_xent_criterion(zis, zls, temperature=0.1):
    logits = F.normalize(zis, dim=1) @ F.normalize(zls, dim=1).t() / temperature
    labels = torch.arange(len(zis))
    return 0.75 * F.cross_entropy(logits, labels) + 0.25 * F.cross_entropy(logits.t(), labels)


# %%
config = SimpleNamespace(learning_rate=1e-3, weight_decay=0, epochs=2, batch_size=8)
model = ModelCLR()
optimizer = torch.optim.Adam(model.parameters(), config.learning_rate, weight_decay=config.weight_decay)
train_loader = [(torch.randn(8, 1, 12, 12), {'input_ids': torch.randint(40, (8, 6)), 'attention_mask': torch.ones(8, 6)})
                for _ in range(2)]

text_before = [p.detach().clone() for p in model.bert_l2.parameters()]
for epoch_counter in range(config.epochs):
    for xis, xls in train_loader:
        optimizer.zero_grad()
        zis, zls = model(xis, xls)  # [N,C]
        loss = nt_xent_criterion(zis, zls)
        loss.backward()
        optimizer.step()
    print(epoch_counter, 'train_loss', loss.item())
