# https://github.com/Philip-Bachman/amdim-public/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, n_in=20, n_rkhs=16):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.rkhs = nn.Linear(48, n_rkhs)

    def forward(self, x):
        return self.rkhs(self.block(x))


class LossNCE(nn.Module):
    def __init__(self, tclip=10.):
        super().__init__()
        self.tclip = tclip

    def forward(self, r_src, r_trg):
        scores = r_src @ r_trg.t() / r_src.size(1) ** 0.5
        lgt_reg = 5e-2 * (scores ** 2).mean()
        scores = self.tclip * torch.tanh(scores / self.tclip)
        labels = torch.arange(len(scores))
        return 0.5 * (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)), lgt_reg


class Evaluator(nn.Module):
    def __init__(self, n_classes, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Dropout(0.2), nn.Linear(dim, 32, bias=False), nn.BatchNorm1d(32),
                                 nn.ReLU(inplace=True), nn.Linear(32, n_classes))
        self.lin = nn.Linear(dim, n_classes)

    def forward(self, ftr):
        # no gradient of the labels into the encoder
        h = ftr.flatten(1).detach()
        return self.mlp(h), self.lin(h)


class Model(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.encoder = Encoder()
        self.nce_loss = LossNCE()
        self.evaluator = Evaluator(n_classes, 16)
        self.info_modules = [self.encoder, self.nce_loss]
        self.class_modules = [self.evaluator]

    def forward(self, x1, x2):
        r1, r2 = self.encoder(x1), self.encoder(x2)
        loss_nce, lgt_reg = self.nce_loss(r1, r2)
        lgt_mlp, lgt_lin = self.evaluator(torch.cat([r1, r2]))
        return {'nce': loss_nce, 'lgt_reg': lgt_reg, 'class': [lgt_mlp, lgt_lin]}


def augment(x):
    return x * (torch.rand_like(x) > 0.1) + 0.2 * torch.randn_like(x)


# %%
model = Model(n_classes=5)
optimizer = torch.optim.Adam([{'params': mod.parameters(), 'lr': 2e-3} for mod in model.info_modules + model.class_modules],
                             betas=(0.8, 0.999), weight_decay=1e-5)
protos = 1.5 * torch.randn(5, 20)
nce, acc = [], []

# %%
for it in range(120):
    labels = torch.randint(0, 5, (48,))
    images = protos[labels] + 0.7 * torch.randn(48, 20)
    res_dict = model(augment(images), augment(images))
    lgt_mlp, lgt_lin = res_dict['class']
    labels2 = torch.cat([labels, labels])
    loss_cls = F.cross_entropy(lgt_mlp, labels2) + F.cross_entropy(lgt_lin, labels2)
    loss_inf = res_dict['nce'] + res_dict['lgt_reg']
    loss_opt = loss_inf + loss_cls
    if it == 119:
        of_inf = torch.autograd.grad(loss_inf, model.encoder.block[0].weight, retain_graph=True)[0]
    optimizer.zero_grad()
    loss_opt.backward()
    optimizer.step()
    nce.append(res_dict['nce'].item())
    acc.append((lgt_lin.argmax(1) == labels2).float().mean().item())
print(nce[0], nce[-1], acc[0], acc[-1])
assert nce[-1] < nce[0] and acc[-1] > 0.7
assert torch.allclose(of_inf, model.encoder.block[0].weight.grad)
