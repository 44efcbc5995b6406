# https://github.com/mil-tokyo/MCD_DA/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)


class Feature(nn.Module):
    def __init__(self):
        super(Feature, self).__init__()
        self.fc1 = nn.Linear(2, 32)
        self.bn1_fc = nn.BatchNorm1d(32)

    def forward(self, x):
        return F.relu(self.bn1_fc(self.fc1(x)))


class Predictor(nn.Module):
    def __init__(self):
        super(Predictor, self).__init__()
        self.fc2 = nn.Linear(32, 32)
        self.bn2_fc = nn.BatchNorm1d(32)
        self.fc3 = nn.Linear(32, 2)

    def forward(self, x):
        return self.fc3(F.relu(self.bn2_fc(self.fc2(x))))


class Solver(object):
    def __init__(self, lr=2e-3, num_k=4):
        self.G, self.C1, self.C2 = Feature(), Predictor(), Predictor()
        self.num_k = num_k
        self.opt_g = optim.Adam(self.G.parameters(), lr=lr, weight_decay=0.0005)
        self.opt_c1 = optim.Adam(self.C1.parameters(), lr=lr, weight_decay=0.0005)
        self.opt_c2 = optim.Adam(self.C2.parameters(), lr=lr, weight_decay=0.0005)

    def reset_grad(self):
        self.opt_g.zero_grad()
        self.opt_c1.zero_grad()
        self.opt_c2.zero_grad()

    def discrepancy(self, out1, out2):
        return torch.mean(torch.abs(F.softmax(out1, dim=1) - F.softmax(out2, dim=1)))

    def train(self, img_s, label_s, img_t):
        criterion = nn.CrossEntropyLoss()
        self.reset_grad()
        feat_s = self.G(img_s)
        loss_s1 = criterion(self.C1(feat_s), label_s)
        loss_s2 = criterion(self.C2(feat_s), label_s)
        loss_s = loss_s1 + loss_s2
        loss_s.backward()
        self.opt_g.step()
        self.opt_c1.step()
        self.opt_c2.step()
        self.reset_grad()

        feat_s = self.G(img_s)
        loss_s = criterion(self.C1(feat_s), label_s) + criterion(self.C2(feat_s), label_s)
        feat_t = self.G(img_t)
        loss_dis = self.discrepancy(self.C1(feat_t), self.C2(feat_t))
        loss = loss_s - loss_dis
        loss.backward()
        self.opt_c1.step()
        self.opt_c2.step()
        self.reset_grad()

        for i in range(self.num_k):
            feat_t = self.G(img_t)
            loss_dis = self.discrepancy(self.C1(feat_t), self.C2(feat_t))
            loss_dis.backward()
            self.opt_g.step()
            self.reset_grad()
        return loss_s1.item(), loss_s2.item(), loss_dis.item()

    def test(self, img, label):
        self.G.eval(), self.C1.eval(), self.C2.eval()
        with torch.no_grad():
            feat = self.G(img)
            output1, output2 = self.C1(feat), self.C2(feat)
            test_loss = F.nll_loss(output1, label).item()
            correct = (output1 + output2).max(1)[1].eq(label).float().mean().item()
        self.G.train(), self.C1.train(), self.C2.train()
        return test_loss, correct


# %%
labels_s = torch.randint(0, 2, (256,))
labels_t = torch.randint(0, 2, (256,))
center = torch.tensor([[-1.5, 0.0], [1.5, 0.0]])
source = center[labels_s] + 0.5 * torch.randn(256, 2)
target = (center + torch.tensor([0.7, 0.5]))[labels_t] + 0.5 * torch.randn(256, 2)

# %%
solver = Solver()
for epoch in range(25):
    for ind in torch.randperm(256).split(64):
        loss1, loss2, discrepancy = solver.train(source[ind], labels_s[ind], target[ind])
test_loss, accuracy = solver.test(target, labels_t)
print('Loss1: %.6f Loss2: %.6f Discrepancy: %.6f' % (loss1, loss2, discrepancy), test_loss, accuracy)
