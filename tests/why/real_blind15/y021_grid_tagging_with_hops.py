# https://github.com/NJUNLP/GTS/issues/13
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, vocabulary=40, dim=16):
        super().__init__()
        self.embeddings = nn.Embedding(vocabulary, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.1, batch_first=True)

    def forward(self, tokens, masks):
        return self.layer(self.embeddings(tokens), src_key_padding_mask=masks == 0)


class MultiInferBert(nn.Module):
    def __init__(self, feature_dim=16, class_num=4, nhops=1):
        super(MultiInferBert, self).__init__()
        self.class_num, self.nhops = class_num, nhops
        self.bert = Encoder(dim=feature_dim)
        self.cls_linear = nn.Linear(feature_dim * 2, class_num)
        self.feature_linear = nn.Linear(feature_dim * 2 + class_num * 3, feature_dim * 2)
        self.dropout_output = nn.Dropout(0.1)

    def multi_hops(self, features, mask, k):
        max_length = features.shape[1]
        mask = mask.unsqueeze(1) * mask.unsqueeze(2)
        mask = torch.triu(mask).unsqueeze(3).expand([-1, -1, -1, self.class_num])
        logits_list = []
        logits = self.cls_linear(features)
        logits_list.append(logits)
        for i in range(k):
            probs = logits
            logits = probs * mask
            logits_a = torch.max(logits, dim=1)[0]
            logits_b = torch.max(logits, dim=2)[0]
            logits = torch.max(torch.stack([logits_a, logits_b], dim=3), dim=3)[0]
            logits = logits.unsqueeze(2).expand([-1, -1, max_length, -1])
            logits = torch.cat([logits, logits.transpose(1, 2)], dim=3)
            new_features = torch.cat([features, logits, probs], dim=3)
            features = self.feature_linear(new_features)
            logits = self.cls_linear(features)
            logits_list.append(logits)
        return logits_list

    def forward(self, tokens, masks):
        bert_feature = self.dropout_output(self.bert(tokens, masks))
        bert_feature = bert_feature.unsqueeze(2).expand([-1, -1, tokens.shape[1], -1])
        features = torch.cat([bert_feature, bert_feature.transpose(1, 2)], dim=3)
        return self.multi_hops(features, masks, self.nhops)[-1]


sentences = torch.randint(0, 40, (48, 8))
labels = torch.where((sentences.unsqueeze(1) + sentences.unsqueeze(2)) % 5 == 0, 1, 0) + 2 * (sentences < 4).unsqueeze(1)

# %%
model = MultiInferBert()
optimizer = torch.optim.Adam([
    {"params": model.bert.parameters(), "lr": 5e-3},
    {"params": model.cls_linear.parameters()},
], lr=5e-3)
hop_at_first = model.feature_linear.weight.detach().clone()
for epoch in range(6):
    for tokens, tags in zip(sentences.split(16), labels.split(16)):
        masks = torch.ones(tokens.shape)
        preds = model(tokens, masks)
        loss = F.cross_entropy(preds.reshape([-1, preds.shape[3]]), tags.reshape([-1]), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("Epoch:{}".format(epoch), loss.item())
print("feature_linear moved by", (model.feature_linear.weight - hop_at_first).abs().max().item())
