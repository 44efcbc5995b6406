# https://github.com/naoto0804/pytorch-AdaIN/blob/master/net.py
import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(0)


def mean_std(feat, eps=1e-5):
    flat = feat.flatten(2)
    return flat.mean(2)[..., None, None], (flat.var(2) + eps).sqrt()[..., None, None]


def adain(content_feat, style_feat):
    content_mean, content_std = mean_std(content_feat)
    style_mean, style_std = mean_std(style_feat)
    return (content_feat - content_mean) / content_std * style_std + style_mean


class Net(nn.Module):
    def __init__(self, enc_1, enc_2, decoder):
        super(Net, self).__init__()
        self.enc_1, self.enc_2, self.decoder = enc_1, enc_2, decoder
        # only the decoder is trained
        for param in [*enc_1.parameters(), *enc_2.parameters()]:
            param.requires_grad = False

    def encode(self, image):
        first = self.enc_1(image)
        return first, self.enc_2(first)

    def forward(self, content, style):
        style_feats = self.encode(style)
        t = adain(self.encode(content)[-1], style_feats[-1])

        g_t = self.decoder(Variable(t.data, requires_grad=True))
        g_t_feats = self.encode(g_t)

        mse = nn.MSELoss()
        loss_c = mse(g_t_feats[-1], t)
        loss_s = 0
        for got, wanted in zip(g_t_feats, style_feats):
            for a, b in zip(mean_std(got), mean_std(wanted)):
                loss_s = loss_s + mse(a, b)
        return loss_c, loss_s


# %%
network = Net(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()),
              nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU()),
              nn.Sequential(nn.Conv2d(12, 8, 3, padding=1), nn.ReLU(), nn.UpsamplingNearest2d(scale_factor=2),
                            nn.Conv2d(8, 3, 3, padding=1)))
optimizer = torch.optim.Adam(network.decoder.parameters(), lr=1e-4)

# %%
for i in range(3):
    content_images, style_images = torch.rand(2, 3, 12, 12), torch.rand(2, 3, 12, 12)
    loss_c, loss_s = network(content_images, style_images)
    loss = loss_c + 10.0 * loss_s
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
