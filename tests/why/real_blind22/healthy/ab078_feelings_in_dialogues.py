# https://discuss.pytorch.org/t/valid-loss-increasing-instead-of-decreasing/150598
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class MaskedNLLLoss(nn.Module):
    def __init__(self, weight=None):
        super(MaskedNLLLoss, self).__init__()
        self.weight = weight
        self.loss = nn.NLLLoss(weight=weight, reduction='sum')

    def forward(self, pred, target, mask):
        """
        pred -> batch*seq_len, n_classes
        target -> batch*seq_len
        mask -> batch, seq_len
        """
        mask_ = mask.view(-1, 1)
        if type(self.weight) == type(None):
            loss = self.loss(pred * mask_, target) / torch.sum(mask)
        else:
            loss = self.loss(pred * mask_, target) / torch.sum(self.weight[target] * mask_.squeeze())
        return loss


class CommonsenseGRUModel(nn.Module):
    def __init__(self, D_m=64, D_h=48, n_classes=6, dropout=0.1):
        super(CommonsenseGRUModel, self).__init__()
        self.linear_in = nn.Linear(D_m, 32)
        self.norm1a = nn.LayerNorm(D_m)
        self.norm3a = nn.BatchNorm1d(D_m)
        self.dropout = nn.Dropout(dropout)
        self.cs_rnn_f = nn.GRU(32, D_h)
        self.cs_rnn_r = nn.GRU(32, D_h)
        self.smax_fc = nn.Linear(2 * D_h, n_classes)

    def forward(self, r1, umask):
        seq_len, batch, feature_dim = r1.size()
        r = self.norm3a(r1.transpose(0, 1).reshape(-1, feature_dim))
        r = self.norm1a(r.reshape(batch, seq_len, feature_dim).transpose(0, 1))
        U = self.linear_in(r)
        emotions_f, _ = self.cs_rnn_f(U)
        emotions_b, _ = self.cs_rnn_r(U.flip(0))
        emotions = torch.cat([self.dropout(emotions_f), self.dropout(emotions_b.flip(0))], dim=-1)
        return F.log_softmax(self.smax_fc(emotions), 2)


# %%
def dialogues(n, seq_len=10):
    features = torch.randn(seq_len, n, 64)
    label = (features[..., :6] + 1.5 * torch.randn(seq_len, n, 6)).argmax(dim=-1)
    umask = (torch.arange(seq_len).unsqueeze(1) < torch.randint(4, seq_len + 1, (1, n))).float()
    return features, label.t().contiguous(), umask.t().contiguous()


train_set, valid_set = dialogues(24), dialogues(24)
model = CommonsenseGRUModel()
loss_weights = torch.tensor([1.2, 0.9, 1.0, 0.8, 1.1, 1.0])
loss_function = MaskedNLLLoss(loss_weights)
optimizer = optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-4)

# %%
train_losses, valid_losses = [], []
for e in range(40):
    for train, (r1, label, umask) in ((True, train_set), (False, valid_set)):
        model.train() if train else model.eval()
        with torch.set_grad_enabled(train):
            log_prob = model(r1, umask)
            lp_ = log_prob.transpose(0, 1).contiguous().view(-1, log_prob.size()[2])
            loss = loss_function(lp_, label.contiguous().view(-1), umask)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        (train_losses if train else valid_losses).append(loss.item())
print(train_losses[0], train_losses[-1], min(valid_losses), valid_losses[-1])
