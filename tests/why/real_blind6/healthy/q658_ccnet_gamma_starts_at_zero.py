# https://github.com/speedinghzl/CCNet/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class CrissCrossAttention(nn.Module):
    """ Pixel-wise attention module"""

    def __init__(self, in_dim):
        super(CrissCrossAttention, self).__init__()
        self.chanel_in = in_dim
        self.query_conv = nn.Conv2d(in_channels=in_dim, out_channels=in_dim // 4, kernel_size=1)
        self.key_conv = nn.Conv2d(in_channels=in_dim, out_channels=in_dim // 4, kernel_size=1)
        self.value_conv = nn.Conv2d(in_channels=in_dim, out_channels=in_dim, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        proj_query = self.query_conv(x).flatten(2)
        proj_key = self.key_conv(x).flatten(2)
        proj_value = self.value_conv(x).flatten(2)

        energy = torch.bmm(proj_query.transpose(1, 2), proj_key)
        attention = F.softmax(energy, -1)
        out = torch.bmm(proj_value, attention.transpose(1, 2)).view_as(x)
        out = self.gamma * out + x
        return out


# %%
backbone = nn.Conv2d(3, 8, 3, 2, 1)
cca = CrissCrossAttention(8)
classifier = nn.Conv2d(8, 5, 1)
optimizer = torch.optim.SGD([*backbone.parameters(), *cca.parameters(), *classifier.parameters()], lr=1e-2, momentum=0.9)
before = cca.value_conv.weight.detach().clone()

# %%
for i in range(4):
    images, labels = torch.rand(4, 3, 12, 12), torch.randint(0, 5, (4, 6, 6))
    optimizer.zero_grad()
    preds = classifier(cca(backbone(images)))
    loss = F.cross_entropy(preds, labels)
    loss.backward()
    optimizer.step()
    print(i, loss.item(), cca.gamma.item())
