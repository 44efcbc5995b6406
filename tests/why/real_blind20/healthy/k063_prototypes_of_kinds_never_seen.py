# https://github.com/jakesnell/prototypical-networks/blob/master/protonets/models/few_shot.py
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.autograd import Variable

torch.manual_seed(0)


def euclidean_dist(x, y):
    # x: N x D
    # y: M x D
    n = x.size(0)
    m = y.size(0)
    d = x.size(1)
    assert d == y.size(1)

    x = x.unsqueeze(1).expand(n, m, d)
    y = y.unsqueeze(0).expand(n, m, d)

    return torch.pow(x - y, 2).sum(2)


class Flatten(nn.Module):
    def __init__(self):
        super(Flatten, self).__init__()

    def forward(self, x):
        return x.view(x.size(0), -1)


class Protonet(nn.Module):
    def __init__(self, encoder):
        super(Protonet, self).__init__()

        self.encoder = encoder

    def loss(self, sample):
        xs = Variable(sample['xs'])  # support
        xq = Variable(sample['xq'])  # query

        n_class = xs.size(0)
        assert xq.size(0) == n_class
        n_support = xs.size(1)
        n_query = xq.size(1)

        target_inds = torch.arange(0, n_class).view(n_class, 1, 1).expand(n_class, n_query, 1).long()
        target_inds = Variable(target_inds, requires_grad=False)

        x = torch.cat([xs.view(n_class * n_support, *xs.size()[2:]),
                       xq.view(n_class * n_query, *xq.size()[2:])], 0)

        z = self.encoder.forward(x)
        z_dim = z.size(-1)

        z_proto = z[:n_class * n_support].view(n_class, n_support, z_dim).mean(1)
        zq = z[n_class * n_support:]

        dists = euclidean_dist(zq, z_proto)

        log_p_y = F.log_softmax(-dists, dim=1).view(n_class, n_query, -1)

        loss_val = -log_p_y.gather(2, target_inds).squeeze().view(-1).mean()

        _, y_hat = log_p_y.max(2)
        acc_val = torch.eq(y_hat, target_inds.squeeze()).float().mean()

        return loss_val, {
            'loss': loss_val.item(),
            'acc': acc_val.item()
        }


def load_protonet_conv(**kwargs):
    x_dim = kwargs['x_dim']
    hid_dim = kwargs['hid_dim']
    z_dim = kwargs['z_dim']

    def conv_block(in_channels, out_channels):
        return nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.MaxPool2d(2)
        )

    encoder = nn.Sequential(
        conv_block(x_dim[0], hid_dim),
        conv_block(hid_dim, z_dim),
        Flatten()
    )

    return Protonet(encoder)


# %%
glyphs = (torch.rand(60, 1, 4, 4) > 0.5).float().repeat_interleave(2, 2).repeat_interleave(2, 3)


def episode(kinds, n_way=5, n_support=1, n_query=4):
    chosen = kinds[torch.randperm(len(kinds))[:n_way]]
    x = glyphs[chosen].unsqueeze(1) + 0.7 * torch.randn(n_way, n_support + n_query, 1, 8, 8)
    return {'xs': x[:, :n_support].contiguous(), 'xq': x[:, n_support:].contiguous()}


train_kinds, test_kinds = torch.arange(0, 40), torch.arange(40, 60)
model = load_protonet_conv(x_dim=[1, 8, 8], hid_dim=16, z_dim=16)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, gamma=0.5)

# %%
model.eval()
with torch.no_grad():
    acc_before = sum(model.loss(episode(test_kinds))[1]['acc'] for _ in range(50)) / 50

losses = []
model.train()
for i in range(300):
    optimizer.zero_grad()
    loss, output = model.loss(episode(train_kinds))
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(output['loss'])

# %%
model.eval()
with torch.no_grad():
    acc_after = sum(model.loss(episode(test_kinds))[1]['acc'] for _ in range(50)) / 50
early, late = sum(losses[:20]) / 20, sum(losses[-20:]) / 20
print(early, late, acc_before, acc_after)
assert late < 0.6 * early and acc_after > 0.6
