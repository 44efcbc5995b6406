# https://github.com/davyneven/SpatialEmbeddings/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SpatialEmbLoss(nn.Module):
    def __init__(self, n_sigma=2, size=16):
        super().__init__()
        self.n_sigma = n_sigma
        xm = torch.linspace(0, 1, size).view(1, 1, -1).expand(1, size, size)
        ym = torch.linspace(0, 1, size).view(1, -1, 1).expand(1, size, size)
        self.register_buffer("xym", torch.cat((xm, ym), 0))

    def mean_sigma(self, sigma_in):
        return sigma_in.mean(1).view(self.n_sigma, 1, 1)  # n_sigma x 1 x 1

    def variance(self, sigma_in):
        s = self.mean_sigma(sigma_in)
        return torch.mean(torch.pow(sigma_in - s.detach(), 2))

    def forward(self, prediction, instances, w_inst=1, w_var=10):
        loss = 0
        for b in range(prediction.size(0)):
            spatial_emb = torch.tanh(prediction[b, 0:2]) + self.xym
            sigma = prediction[b, 2:2 + self.n_sigma]
            instance = instances[b].unsqueeze(0)
            var_loss, instance_loss, obj_count = 0, 0, 0
            for id in instance.unique()[1:]:
                in_mask = instance.eq(id)  # 1 x h x w
                center = spatial_emb[in_mask.expand_as(spatial_emb)].view(2, -1).mean(1).view(2, 1, 1)
                sigma_in = sigma[in_mask.expand_as(sigma)].view(self.n_sigma, -1)
                var_loss = var_loss + self.variance(sigma_in)
                s = torch.exp(self.mean_sigma(sigma_in) * 3)
                dist = torch.exp(-1 * torch.sum(torch.pow(spatial_emb - center, 2) * s, 0, keepdim=True))
                instance_loss = instance_loss + F.mse_loss(dist, in_mask.float())
                obj_count += 1
            loss = loss + (w_inst * instance_loss + w_var * var_loss) / obj_count
        return loss / prediction.size(0)


class BranchedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 3, padding=1))

    def forward(self, x):
        return self.layers(x)


def make_batch(n):
    instances = torch.zeros(n, 16, 16)
    for k in range(n):
        instances[k, 2:5, 1:15] = 1  # wide and flat
        instances[k, 9:12, 1:15] = 2
    return (instances > 0).float().unsqueeze(1) + 0.1 * torch.randn(n, 1, 16, 16), instances


# %%
model, criterion = BranchedNet(), SpatialEmbLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    im, instances = make_batch(4)
    output = model(im)
    loss = criterion(output, instances)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item(), output[:, 2:4].mean((0, 2, 3)).tolist())
