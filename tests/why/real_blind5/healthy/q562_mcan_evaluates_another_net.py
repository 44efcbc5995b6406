# https://github.com/MILVLG/mcan-vqa/issues/26
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, hidden=16, answer_size=6):
        super(Net, self).__init__()
        self.embedding = nn.Embedding(30, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.img_feat_linear = nn.Linear(8, hidden)
        self.dropout = nn.Dropout(0.1)
        self.proj = nn.Linear(hidden, answer_size)

    def forward(self, img_feat, ques_ix):
        lang_feat, _ = self.lstm(self.embedding(ques_ix))
        img = self.img_feat_linear(img_feat).mean(1)
        return torch.sigmoid(self.proj(self.dropout(lang_feat.mean(1) + img)))


class Execution:
    def __init__(self):
        self.dataset = [(torch.randn(4, 5, 8), torch.randint(0, 30, (4, 7)), torch.rand(4, 6).round()) for _ in range(2)]
        self.dataset_eval = [(torch.randn(4, 5, 8), torch.randint(0, 30, (4, 7)), torch.rand(4, 6).round())]

    def train(self, net, optim, max_epoch=3):
        net.train()
        loss_fn = torch.nn.BCELoss(reduction='sum')
        for epoch in range(max_epoch):
            loss_sum = 0
            for img_feat_iter, ques_ix_iter, ans_iter in self.dataset:
                optim.zero_grad()
                pred = net(img_feat_iter, ques_ix_iter)
                loss = loss_fn(pred, ans_iter)
                loss.backward()
                loss_sum += loss.item()
                nn.utils.clip_grad_norm_(net.parameters(), 5)
                optim.step()
            state = {'state_dict': {k: v.clone() for k, v in net.state_dict().items()}, 'optimizer': optim.state_dict()}
            print('epoch', epoch, 'loss', loss_sum, 'acc', self.eval(state['state_dict']))

    def eval(self, state_dict):
        net = Net()
        net.eval()
        net.load_state_dict(state_dict)
        right = [(net(img, ques) > 0.5).eq(ans > 0.5).float().mean().item() for img, ques, ans in self.dataset_eval]
        return sum(right) / len(right)


# %%
net = Net()
optim = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
execution = Execution()

# %%
execution.train(net, optim)
