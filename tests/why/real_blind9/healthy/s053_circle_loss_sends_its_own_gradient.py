# https://github.com/TinyZeaMays/CircleLoss/issues/28
import torch
from torch import nn

torch.manual_seed(0)


def convert_label_to_similarity(feat, lbl):
    similarity = (feat @ feat.t()).flatten()
    same = ((lbl[:, None] == lbl).int() + torch.eye(len(lbl), dtype=torch.int)).flatten()
    return similarity[same == 1], similarity[same == 0]


class CircleLossBackward(nn.Module):
    def __init__(self, m, gamma):
        super().__init__()
        self.m, self.gamma = m, gamma

    def forward(self, sp, sn):
        ap = (1 + self.m - sp.detach()).relu()
        an = (self.m + sn.detach()).relu()
        logit_p = -ap * (sp - (1 - self.m)) * self.gamma
        logit_n = an * (sn - self.m) * self.gamma
        loss = nn.functional.softplus(logit_p.logsumexp(0) + logit_n.logsumexp(0))
        z = 1 - (-loss).exp()
        # the gradients are given by hand
        sp.backward(gradient=-z * ap * logit_p.softmax(0) * self.gamma, retain_graph=True)
        sn.backward(gradient=z * an * logit_n.softmax(0) * self.gamma)
        return loss.detach()


# %%
model = nn.Linear(20, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
img, lbl = torch.randn(32, 20), torch.randint(high=4, size=(32,))
criterion = CircleLossBackward(m=0.25, gamma=16)

# %%
for epoch in range(4):
    optimizer.zero_grad()
    feat = nn.functional.normalize(model(img))
    loss = criterion(*convert_label_to_similarity(feat, lbl))
    optimizer.step()
    print(loss)
