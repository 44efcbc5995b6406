# https://github.com/BCV-Uniandes/DMS/issues/30
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class DMN(nn.Module):
    def __init__(self, dict_size=8, emb_size=8, hid_size=16, vis_size=12, num_filters=3, mixed_size=12):
        super().__init__()
        self.emb = nn.Embedding(dict_size, emb_size)
        self.lang_model = nn.GRU(emb_size, hid_size, batch_first=True)
        self.base = nn.Sequential(
            nn.Conv2d(3, vis_size, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(vis_size), nn.ReLU(),
            nn.Conv2d(vis_size, vis_size, 3, padding=1, bias=False), nn.BatchNorm2d(vis_size), nn.ReLU())
        self.adaptative_filter = nn.Linear(hid_size, num_filters * vis_size)
        self.comb_conv = nn.Conv2d(vis_size + num_filters + hid_size, mixed_size, 1)
        self.output_collapse = nn.Conv2d(mixed_size, 1, 1)
        self.num_filters, self.vis_size = num_filters, vis_size

    def forward(self, vis, lang):
        vis = self.base(vis)
        B, C, H, W = vis.shape
        lang = self.lang_model(self.emb(lang))[0]
        mixed = 0
        for t in range(lang.shape[1]):
            filters = torch.sigmoid(self.adaptative_filter(lang[:, t])).view(self.num_filters, C, 1, 1)
            responses = F.conv2d(vis, filters)
            sentence = lang[:, t, :, None, None].expand(B, -1, H, W)
            mixed = mixed + torch.relu(self.comb_conv(torch.cat([vis, responses, sentence], dim=1)))
        return self.output_collapse(mixed)


# %%
imgs, masks, words = torch.rand(60, 3, 16, 16) * 0.5, torch.zeros(60, 16, 16), torch.randint(0, 3, (60, 3))
for k in range(60):
    rows = torch.randperm(4)[:3].tolist()
    for color, row in enumerate(rows):
        imgs[k, color, 4 * row:4 * row + 4, 4:14] += 1.0
    words[k, -1] = 3 + k % 3
    masks[k, 4 * rows[k % 3]:4 * rows[k % 3] + 4, 4:14] = 1.0
train_loader = DataLoader(TensorDataset(imgs[:50], masks[:50], words[:50]), batch_size=1, shuffle=True)
val_loader = DataLoader(TensorDataset(imgs[50:], masks[50:], words[50:]), batch_size=1)
net = DMN()
optimizer = optim.Adam(net.parameters(), lr=4e-3)
criterion = nn.BCEWithLogitsLoss()
accum_iters = 5

# %%
def train(epoch):
    net.train()
    total = []
    optimizer.zero_grad()
    loss = 0
    for batch_idx, (img, mask, phrase) in enumerate(train_loader):
        out_masks = net(img, phrase)
        out_masks = F.interpolate(out_masks, size=mask.shape[-2:], mode='bilinear').squeeze()
        loss += criterion(out_masks, mask.squeeze())
        if batch_idx % accum_iters == 0:
            loss = loss / accum_iters
            loss.backward()
            optimizer.step()
            total.append(loss.item())
            loss = 0
            optimizer.zero_grad()
    return sum(total[1:]) / len(total[1:])


def evaluate(epoch=0):
    net.train()
    cum_I, cum_U = 0, 0
    for img, mask, phrase in val_loader:
        with torch.no_grad():
            out = torch.sigmoid(net(img, phrase))
            out = F.interpolate(out, size=mask.shape[-2:], mode='bilinear').squeeze()
        thresholded_out = (out > 0.5).float()
        inter = (thresholded_out * mask).sum().item()
        cum_I, cum_U = cum_I + inter, cum_U + (thresholded_out + mask).sum().item() - inter
    return cum_I / cum_U


# %%
losses, ious = [], [evaluate()]
for epoch in range(1, 13):
    losses.append(train(epoch))
    ious.append(evaluate(epoch))
print(losses[0], losses[-1], ious[0], ious[-1])
