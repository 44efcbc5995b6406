# https://github.com/VisionLearningGroup/DAL/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.lambd, None


def grad_reverse(x, lambd=1.0):
    return GradReverse.apply(x, lambd)


class Feature_disentangle(nn.Module):
    def __init__(self):
        super(Feature_disentangle, self).__init__()
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, 16)

    def forward(self, x):
        return F.relu(self.fc2(F.relu(self.fc1(x))))


class Predictor(nn.Module):
    def __init__(self):
        super(Predictor, self).__init__()
        self.fc3 = nn.Linear(16, 10)

    def set_lambda(self, lambd):
        self.lambd = lambd

    def forward(self, x, reverse=False):
        if reverse:
            x = grad_reverse(x, self.lambd)
        return self.fc3(x)


# %%
D, C1 = Feature_disentangle(), Predictor()
C1.set_lambda(1.0)
opt_di = torch.optim.Adam(D.parameters(), lr=0.001)
opt_c1 = torch.optim.Adam(C1.parameters(), lr=0.001)
feats, label_s = torch.randn(64, 64), torch.randint(0, 10, (64,))
criterion = nn.CrossEntropyLoss()

# %%
# class irrelevant features: C1 learns the classes, D hides them
losses = []
for step in range(200):
    opt_di.zero_grad()
    opt_c1.zero_grad()
    feat_ci = D(feats)
    pred = C1(feat_ci)
    adv_loss = criterion(pred, label_s)
    adv_loss.backward()
    opt_c1.step()
    opt_di.step()
    losses.append(adv_loss.item())
print(losses[0], losses[-1])
