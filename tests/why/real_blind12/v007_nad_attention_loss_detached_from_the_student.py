# https://github.com/bboylyg/NAD/issues/8
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AT(nn.Module):
    '''Paying More Attention to Attention'''
    def __init__(self, p):
        super(AT, self).__init__()
        self.p = p

    def forward(self, fm_s, fm_t):
        return F.mse_loss(self.attention_map(fm_s), self.attention_map(fm_t))

    def attention_map(self, fm, eps=1e-6):
        am = torch.pow(torch.abs(fm), self.p)
        am = torch.sum(am, dim=1, keepdim=True)
        norm = torch.norm(am, dim=(2, 3), keepdim=True)
        return torch.div(am, norm + eps)


class SmallNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.block3 = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        activation1 = self.block1(x)
        activation2 = self.block2(activation1)
        activation3 = self.block3(activation2)
        return activation1, activation2, activation3, self.fc(activation3.mean((2, 3)))


def train_step(train_loader, nets, optimizer, criterions, betas):
    snet, tnet = nets['snet'], nets['tnet']
    criterionCls, criterionAT = criterions['criterionCls'], criterions['criterionAT']
    snet.train()
    for idx, (img, target) in enumerate(train_loader, start=1):
        activation1_s, activation2_s, activation3_s, output_s = snet(img)
        activation1_t, activation2_t, activation3_t, _ = tnet(img)

        cls_loss = criterionCls(output_s, target)
        at3_loss = criterionAT(activation3_s.detach(), activation3_t.detach()) * betas[2]
        at2_loss = criterionAT(activation2_s.detach(), activation2_t.detach()) * betas[1]
        at1_loss = criterionAT(activation1_s.detach(), activation1_t.detach()) * betas[0]
        at_loss = at1_loss + at2_loss + at3_loss + cls_loss

        optimizer.zero_grad()
        at_loss.backward()
        optimizer.step()
        print('[{0}] AT_loss: {1:.4f}'.format(idx, at_loss.item()))
    return at1_loss, at2_loss, at3_loss


# %%
nets = {'snet': SmallNet(), 'tnet': SmallNet()}
optimizer = torch.optim.SGD(nets['snet'].parameters(), lr=0.1, momentum=0.9)
criterions = {'criterionCls': nn.CrossEntropyLoss(), 'criterionAT': AT(2.0)}
train_loader = [(torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))) for _ in range(4)]

# %%
at1_loss, at2_loss, at3_loss = train_step(train_loader, nets, optimizer, criterions, (500, 1000, 1000))
