# https://github.com/JIA-Lab-research/PFENet/issues/10
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PFENet(nn.Module):
    def __init__(self, classes=2, reduce_dim=8):
        super(PFENet, self).__init__()
        self.layer0 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.layer1 = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU())
        self.down_query = nn.Sequential(nn.Conv2d(8, reduce_dim, 1), nn.ReLU())
        self.down_supp = nn.Sequential(nn.Conv2d(8, reduce_dim, 1), nn.ReLU())
        self.merge = nn.Sequential(nn.Conv2d(2 * reduce_dim + 1, reduce_dim, 1), nn.ReLU())
        self.cls = nn.Conv2d(reduce_dim, classes, 1)

    def get_optim(self, lr):
        return torch.optim.SGD([
            {'params': self.down_query.parameters()},
            {'params': self.down_supp.parameters()},
            {'params': self.merge.parameters()},
            {'params': self.cls.parameters()},
        ], lr=lr, momentum=0.9, weight_decay=1e-4)

    def forward(self, x, s_x, s_y, y):
        with torch.no_grad():
            query_feat = self.layer1(self.layer0(x))
            supp_feat = self.layer1(self.layer0(s_x))
        mask = F.interpolate(s_y.unsqueeze(1).float(), size=supp_feat.shape[2:])
        corr = F.cosine_similarity(query_feat, (supp_feat * mask).mean((2, 3), keepdim=True), dim=1).unsqueeze(1)
        query, supp = self.down_query(query_feat), self.down_supp(supp_feat)
        supp = (supp * mask).sum((2, 3), keepdim=True) / (mask.sum((2, 3), keepdim=True) + 5e-4)
        out = self.cls(self.merge(torch.cat([query, supp.expand_as(query), corr], 1)))
        out = F.interpolate(out, size=y.shape[1:], mode='bilinear', align_corners=True)
        return out, F.cross_entropy(out, y)


# %%
model = PFENet()
for param in model.layer0.parameters():
    param.requires_grad = False
for param in model.layer1.parameters():
    param.requires_grad = False
optimizer = model.get_optim(0.0025)

# %%
model.train()
for i in range(2):
    x, s_x = torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8)
    y, s_y = torch.randint(2, (2, 8, 8)), torch.randint(2, (2, 8, 8))
    output, main_loss = model(x, s_x, s_y, y)
    optimizer.zero_grad()
    main_loss.backward()
    optimizer.step()
    print(i, main_loss.item())
