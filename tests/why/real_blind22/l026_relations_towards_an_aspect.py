# https://github.com/shenwzh3/RGAT-ABSA/issues/9
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def mask_logits(target, mask):
    return target * mask + (1 - mask) * (-1e30)


class RelationAttention(nn.Module):
    def __init__(self, in_dim=24, hidden_dim=16):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden_dim)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(hidden_dim, 1)

    def forward(self, feature, dep_tags_v, dmask):
        Q = self.fc2(self.relu(self.fc1(dep_tags_v))).squeeze(2)
        Q = F.softmax(mask_logits(Q, dmask), dim=1)
        return torch.bmm(Q.unsqueeze(1), feature)


class DotprodAttention(nn.Module):
    def forward(self, feature, aspect_v, dmask):
        Q = torch.matmul(feature, aspect_v.unsqueeze(-1)).squeeze(2)
        Q = F.softmax(mask_logits(Q, dmask), dim=1)
        return torch.bmm(Q.unsqueeze(1), feature)


class Aspect_Text_GAT_ours(nn.Module):
    def __init__(self, args, vocab_size, dep_tag_num):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, args.embedding_dim)
        self.embed.weight.requires_grad_(False)
        self.dropout = nn.Dropout(args.dropout)
        self.bilstm = nn.LSTM(args.embedding_dim, args.hidden_size, bidirectional=True, batch_first=True)
        self.gat_dep = [RelationAttention(in_dim=args.embedding_dim) for i in range(args.num_heads)]
        self.gat = [DotprodAttention() for i in range(args.num_heads)]
        self.dep_embed = nn.Embedding(dep_tag_num, args.embedding_dim)
        self.aspect_proj = nn.Linear(args.embedding_dim, args.hidden_size * 2)
        self.fcs = nn.Sequential(nn.Linear(args.hidden_size * 4, args.final_hidden_size), nn.ReLU())
        self.fc_final = nn.Linear(args.final_hidden_size, args.num_classes)

    def forward(self, sentence, aspect, dep_tags):
        fmask = (sentence != 0).float()
        feature, _ = self.bilstm(self.dropout(self.embed(sentence)))
        aspect_feature = self.aspect_proj(self.embed(aspect).mean(1))
        dep_feature = self.dep_embed(dep_tags)

        dep_out = torch.cat([g(feature, dep_feature, fmask) for g in self.gat_dep], dim=1).mean(1)
        gat_out = torch.cat([g(feature, aspect_feature, fmask) for g in self.gat], dim=1).mean(1)
        feature_out = self.fcs(torch.cat([dep_out, gat_out], dim=1))
        return self.fc_final(feature_out)


# %%
args = SimpleNamespace(embedding_dim=24, hidden_size=16, num_heads=3, dropout=0.1, final_hidden_size=16, num_classes=3)
sentence = torch.randint(1, 40, (96, 10))
sentence[::3, 7:] = 0
dep_tags = torch.randint(0, 9, (96, 10))
aspect = torch.randint(1, 40, (96, 2))
opinion = (dep_tags == 4).float().argmax(1)
label = sentence[torch.arange(96), opinion] % 3

model = Aspect_Text_GAT_ours(args, 40, 9)
parameters = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.Adam(parameters, lr=5e-3)
before = [p.detach().clone() for g in model.gat_dep for p in g.parameters()]

# %%
losses = []
for epoch in range(4):
    for start in range(0, 96, 32):
        batch = slice(start, start + 32)
        model.zero_grad()
        logit = model(sentence[batch], aspect[batch], dep_tags[batch])
        loss = F.cross_entropy(logit, label[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])

# %%
after = [p.detach() for g in model.gat_dep for p in g.parameters()]
print([torch.equal(a, b) for a, b in zip(before, after)])
