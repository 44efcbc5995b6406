# https://github.com/SSL92/hyperIQA/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HyperNet(nn.Module):
    def __init__(self, hyper_in=8, target_in=6, f1=4):
        super(HyperNet, self).__init__()
        self.target_in, self.f1 = target_in, f1
        self.res = nn.Conv2d(3, hyper_in, 3, 2, 1)
        self.vec = nn.Linear(hyper_in, target_in)
        self.fc1w_conv = nn.Linear(hyper_in, target_in * f1)
        self.fc1b_fc = nn.Linear(hyper_in, f1)
        self.fc2w_fc = nn.Linear(hyper_in, f1)

    def forward(self, img):
        feat = torch.relu(self.res(img)).mean((2, 3))
        out = {}
        out['target_in_vec'] = self.vec(feat)
        out['target_fc1w'] = self.fc1w_conv(feat).view(-1, self.f1, self.target_in)
        out['target_fc1b'] = self.fc1b_fc(feat)
        out['target_fc2w'] = self.fc2w_fc(feat).view(-1, 1, self.f1)
        return out


class TargetNet(nn.Module):
    def __init__(self, paras):
        super(TargetNet, self).__init__()
        self.paras = paras

    def forward(self, x):
        q = torch.bmm(self.paras['target_fc1w'], x.unsqueeze(-1)).squeeze(-1) + self.paras['target_fc1b']
        q = torch.sigmoid(q)
        return torch.bmm(self.paras['target_fc2w'], q.unsqueeze(-1)).squeeze()


# %%
model_hyper = HyperNet().train(True)
l1_loss = nn.L1Loss()
solver = torch.optim.Adam(model_hyper.parameters(), lr=1e-3, weight_decay=5e-4)
before = model_hyper.fc1w_conv.weight.detach().clone()

# %%
for t in range(3):
    img, label = torch.rand(8, 3, 8, 8), torch.rand(8) * 100
    solver.zero_grad()
    # Generate weights for target network
    paras = model_hyper(img)
    # Building target network
    model_target = TargetNet(paras)
    for param in model_target.parameters():
        param.requires_grad = False

    # Quality prediction
    pred = model_target(paras['target_in_vec'])
    loss = l1_loss(pred.squeeze(), label.float().detach())
    loss.backward()
    solver.step()
    print(t, loss.item())
