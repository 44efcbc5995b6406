# https://github.com/aupendu/zero-restore/issues/7
import torch
import torch.nn as nn

torch.manual_seed(0)


class InConv(nn.Module):
    def __init__(self, out_ch):
        super(InConv, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, out_ch, 7, stride=4, padding=3, bias=False, padding_mode='reflect'),
            nn.GroupNorm(num_channels=out_ch, num_groups=4, affine=True),
            nn.ReLU(inplace=False),
        )
        self.convf = nn.Sequential(
            nn.Conv2d(out_ch, out_ch, 3, padding=1, bias=False, padding_mode='reflect'),
            nn.GroupNorm(num_channels=out_ch, num_groups=4, affine=True),
            nn.ReLU(inplace=False),
        )

    def forward(self, x):
        R, G, B = x[:, 0:1, :, :], x[:, 1:2, :, :], x[:, 2:3, :, :]
        x = torch.stack([self.conv(R), self.conv(G), self.conv(B)], 1)
        x, _ = torch.min(x, dim=1)
        return self.convf(x)


class SKConv(nn.Module):
    def __init__(self, outfeatures=8, M=3, L=6):
        super(SKConv, self).__init__()
        in_conv = InConv(outfeatures)
        self.convs = nn.ModuleList([in_conv])
        for i in range(1, M):
            self.convs.append(nn.Sequential(
                nn.Upsample(scale_factor=1 / (2 ** i), mode='bilinear', align_corners=True),
                in_conv,
                nn.Upsample(scale_factor=2 ** i, mode='bilinear', align_corners=True),
            ))
        self.fc = nn.Linear(outfeatures, L)
        self.fcs = nn.ModuleList([nn.Linear(L, outfeatures) for _ in range(M)])
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        feas = torch.cat([conv(x).unsqueeze_(dim=1) for conv in self.convs], dim=1)
        fea_U = torch.sum(feas, dim=1)
        fea_z = self.fc(fea_U.mean(-1).mean(-1))
        vectors = torch.cat([fc(fea_z).unsqueeze(dim=1) for fc in self.fcs], dim=1)
        attention = self.softmax(vectors).unsqueeze(-1).unsqueeze(-1)
        return (feas * attention).sum(dim=1)


class Estimation(nn.Module):
    def __init__(self):
        super(Estimation, self).__init__()
        self.InConv = SKConv()
        self.OutConv = nn.Conv2d(8, 3, 3, padding=1, bias=False, padding_mode='reflect')
        self.up = nn.Upsample(scale_factor=4, mode='bilinear', align_corners=True)
        self.dense = nn.Linear(8, 3, bias=False)

    def forward(self, x):
        xmin = self.InConv(x)
        trans = torch.sigmoid(self.OutConv(self.up(xmin))) + 1e-12
        atm = torch.sigmoid(self.dense(xmin.mean(dim=(2, 3))))[:, :, None, None].expand_as(x)
        return trans, atm, (x - (1 - trans) * atm) / trans


# %%
model = Estimation()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
image = torch.rand(1, 3, 64, 64)
for step in range(3):
    trans, atm, out = model(image)
    loss = (out.mean(dim=(2, 3)) - 0.5).pow(2).mean() + (trans * out + (1 - trans) * atm - image).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
