# https://github.com/facebookresearch/simsiam/blob/main/simsiam/builder.py
import torch
import torch.nn as nn

torch.manual_seed(0)


class SimSiam(nn.Module):
    def __init__(self, dim=16, pred_dim=8):
        super(SimSiam, self).__init__()
        self.encoder = nn.Sequential(nn.Linear(20, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(inplace=True),
                                     nn.Linear(dim, dim), nn.BatchNorm1d(dim, affine=False))
        self.encoder[3].bias.requires_grad = False  # hack: not use bias as it is followed by BN
        self.predictor = nn.Sequential(nn.Linear(dim, pred_dim, bias=False), nn.BatchNorm1d(pred_dim), nn.ReLU(inplace=True), nn.Linear(pred_dim, dim))

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


# %%
model = SimSiam()
criterion = nn.CosineSimilarity(dim=1)
optim_params = [{'params': model.encoder.parameters(), 'fix_lr': False}, {'params': model.predictor.parameters(), 'fix_lr': True}]
optimizer = torch.optim.SGD(optim_params, 0.05, momentum=0.9, weight_decay=1e-4)
before = model.encoder[0].weight.detach().clone()

# %%
for i in range(3):
    images = torch.randn(16, 20)
    p1, p2, z1, z2 = model(x1=images + 0.1 * torch.randn(16, 20), x2=images + 0.1 * torch.randn(16, 20))
    loss = -(criterion(p1, z2).mean() + criterion(p2, z1).mean()) * 0.5
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, loss.item())
