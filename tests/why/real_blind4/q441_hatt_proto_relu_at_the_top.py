# https://github.com/thunlp/HATT-Proto/issues/6
import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(3)


class ProtoHATT(nn.Module):
    def __init__(self, shots, hidden_size=12):
        super(ProtoHATT, self).__init__()
        self.hidden_size = hidden_size
        self.sentence_encoder = nn.Linear(20, hidden_size)

        # for feature-level attention
        self.conv1 = nn.Conv2d(1, 8, (shots, 1), padding=(shots // 2, 0))
        self.conv2 = nn.Conv2d(8, 16, (shots, 1), padding=(shots // 2, 0))
        self.conv_final = nn.Conv2d(16, 1, (shots, 1), stride=(shots, 1))
        for conv in (self.conv1, self.conv2, self.conv_final):
            nn.init.xavier_normal_(conv.weight)

    def __dist__(self, x, y, dim, score=None):
        if score is None:
            return (torch.pow(x - y, 2)).sum(dim)
        else:
            return (torch.pow(x - y, 2) * score).sum(dim)

    def __batch_dist__(self, S, Q, score=None):
        return self.__dist__(S, Q.unsqueeze(2), 3, score)

    def forward(self, support, query, N, K, Q):
        """
        support: Inputs of the support set.
        query: Inputs of the query set.
        N: Num of classes
        K: Num of instances for each class in the support set
        Q: Num of instances for each class in the query set
        """
        support = self.sentence_encoder(support)  # (B * N * K, D)
        query = self.sentence_encoder(query)  # (B * N * Q, D)
        support = support.view(-1, N, K, self.hidden_size)  # (B, N, K, D)
        query = query.view(-1, N * Q, self.hidden_size)  # (B, N * Q, D)
        B = support.size(0)
        NQ = query.size(1)

        # feature-level attention
        fea_att_score = support.view(B * N, 1, K, self.hidden_size)  # (B * N, 1, K, D)
        fea_att_score = F.relu(self.conv1(fea_att_score))  # (B * N, 8, K, D)
        fea_att_score = F.relu(self.conv2(fea_att_score))  # (B * N, 16, K, D)
        fea_att_score = F.relu(self.conv_final(fea_att_score))  # (B * N, 1, 1, D)
        fea_att_score = fea_att_score.view(B, N, self.hidden_size).unsqueeze(1)  # (B, 1, N, D)

        # Prototypical Networks
        support_proto = support.mean(2).unsqueeze(1).expand(-1, NQ, -1, -1)  # (B, NQ, N, D)
        logits = -self.__batch_dist__(support_proto, query, fea_att_score)
        _, pred = torch.max(logits.view(-1, N), 1)
        return logits, pred


# %%
N, K, Q = 5, 5, 2
model = ProtoHATT(K)
optimizer = optim.SGD(model.parameters(), 0.1, weight_decay=1e-5)
criterion = nn.CrossEntropyLoss()
centres = torch.randn(5, 20)

for it in range(3):
    support = (centres.repeat_interleave(K, 0) + 0.3 * torch.randn(N * K, 20))
    query = (centres.repeat_interleave(Q, 0) + 0.3 * torch.randn(N * Q, 20))
    label = torch.arange(N).repeat_interleave(Q)
    logits, pred = model(support, query, N, K, Q)
    loss = criterion(logits.view(-1, N), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('step: {0:4} | loss: {1:2.6f}, accuracy: {2:3.2f}%'.format(it + 1, loss.item(), 100 * (pred == label).float().mean().item()))
