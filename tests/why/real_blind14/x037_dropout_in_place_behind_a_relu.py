# https://github.com/BierOne/bottom-up-attention-vqa/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm

torch.manual_seed(0)


class SimpleClassifier(nn.Module):
    def __init__(self, in_dim, hid_dim, out_dim, dropout):
        super(SimpleClassifier, self).__init__()
        layers = [
            weight_norm(nn.Linear(in_dim, hid_dim), dim=None),
            nn.ReLU(),
            nn.Dropout(dropout, inplace=True),
            weight_norm(nn.Linear(hid_dim, out_dim), dim=None),
        ]
        self.main = nn.Sequential(*layers)

    def forward(self, x):
        logits = self.main(x)
        return logits


class BaseModel(nn.Module):
    def __init__(self, v_dim=12, vocab=30, num_hid=16, answers=5):
        super().__init__()
        self.w_emb = nn.Embedding(vocab, num_hid)
        self.q_emb = nn.GRU(num_hid, num_hid, batch_first=True)
        self.v_att = nn.Linear(v_dim + num_hid, 1)
        self.q_net, self.v_net = nn.Linear(num_hid, num_hid), nn.Linear(v_dim, num_hid)
        self.classifier = SimpleClassifier(num_hid, num_hid * 2, answers, 0.5)

    def forward(self, v, q):
        q_emb = self.q_emb(self.w_emb(q))[1][0]
        att = torch.softmax(self.v_att(torch.cat([v, q_emb[:, None].expand(-1, v.size(1), -1)], dim=2)), dim=1)
        v_emb = (att * v).sum(1)
        return self.classifier(self.q_net(q_emb) * self.v_net(v_emb))


# %%
model = BaseModel()
optim = torch.optim.Adamax(model.parameters())
for i in range(3):
    v, q, a = torch.randn(8, 6, 12), torch.randint(0, 30, (8, 7)), torch.rand(8, 5)
    pred = model(v, q)
    loss = F.binary_cross_entropy_with_logits(pred, a) * a.size(1)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optim.step()
    optim.zero_grad()
