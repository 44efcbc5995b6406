# https://github.com/dillondavis/RecurrentAttentionConvolutionalNeuralNetwork/issues/4
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RankLoss(nn.Module):
    def __init__(self, margin=0.05):
        super(RankLoss, self).__init__()
        self.margin = margin

    def forward(self, scores1, scores2, target):
        ps1 = F.softmax(scores1, 1).gather(1, target.view(-1, 1))
        ps2 = F.softmax(scores2, 1).gather(1, target.view(-1, 1))
        return torch.clamp(ps1 - ps2 + self.margin, min=0)


class APN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 16), nn.Tanh(), nn.Linear(16, 3), nn.Sigmoid())

    def forward(self, x):
        tx, ty, tl = self.fc(x).unbind(1)
        theta = torch.zeros(x.size(0), 2, 3)
        theta[:, 0, 0] = theta[:, 1, 1] = 0.4 + 0.4 * tl
        theta[:, 0, 2], theta[:, 1, 2] = tx - 0.5, ty - 0.5
        return F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners=False), align_corners=False)


def classifier():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4))


# %%
apn, net1, net2 = APN(), classifier(), classifier()
criterion_rank = RankLoss()
optimizer_apn = torch.optim.SGD(apn.parameters(), lr=0.01)
batch_size = 8

# %%
batch, label = torch.rand(batch_size, 3, 8, 8), torch.randint(0, 4, (batch_size,))
scores = [net1(batch), net2(apn(batch))]
rank_loss = criterion_rank(scores[0], scores[1], label)
optimizer_apn.zero_grad()
rank_loss.backward()
optimizer_apn.step()
print(rank_loss.item())
