# https://github.com/princeton-vl/RAFT/issues/116
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def coords_grid(batch, ht, wd):
    y, x = torch.meshgrid(torch.arange(ht), torch.arange(wd), indexing='ij')
    return torch.stack([x, y]).float().repeat(batch, 1, 1, 1)


class CorrBlock:
    def __init__(self, fmap1, fmap2, radius=2):
        B, C, H, W = fmap1.shape
        self.radius = radius
        corr = torch.einsum('bchw,bcij->bhwij', fmap1, fmap2) / C ** 0.5
        self.volume = corr.reshape(B * H * W, 1, H, W)

    def __call__(self, coords):
        r = self.radius
        B, _, H, W = coords.shape
        d = torch.linspace(-r, r, 2 * r + 1)
        delta = torch.stack(torch.meshgrid(d, d, indexing='ij'), dim=-1).flip(-1)
        window = coords.permute(0, 2, 3, 1).reshape(B * H * W, 1, 1, 2) + delta
        window = 2 * window / torch.tensor([W - 1, H - 1]) - 1
        sampled = F.grid_sample(self.volume, window, align_corners=True)
        return sampled.view(B, H, W, -1).permute(0, 3, 1, 2)


class UpdateBlock(nn.Module):
    def __init__(self, hidden=24, planes=25):
        super().__init__()
        self.encoder = nn.Conv2d(planes + 2, 24, 3, padding=1)
        self.convz = nn.Conv2d(hidden + 48, hidden, 3, padding=1)
        self.convq = nn.Conv2d(hidden + 48, hidden, 3, padding=1)
        self.flow_head = nn.Conv2d(hidden, 2, 3, padding=1)

    def forward(self, net, inp, corr, flow):
        motion = torch.relu(self.encoder(torch.cat([corr, flow], 1)))
        hx = torch.cat([net, inp, motion], 1)
        z = torch.sigmoid(self.convz(hx))
        net = (1 - z) * net + z * torch.tanh(self.convq(hx))
        return net, self.flow_head(net)


class SmallRAFT(nn.Module):
    def __init__(self):
        super().__init__()
        self.fnet = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 1), nn.InstanceNorm2d(24))
        self.cnet = nn.Conv2d(1, 48, 3, padding=1)
        self.update_block = UpdateBlock()

    def forward(self, image1, image2, iters=3):
        corr_fn = CorrBlock(self.fnet(image1), self.fnet(image2))
        net, inp = self.cnet(image1).chunk(2, dim=1)
        net, inp = torch.tanh(net), torch.relu(inp)
        coords0 = coords_grid(len(image1), *image1.shape[2:])
        coords1 = coords0.clone()
        flow_predictions = []
        for itr in range(iters):
            coords1 = coords1.detach()
            corr = corr_fn(coords1)
            net, delta_flow = self.update_block(net, inp, corr, coords1 - coords0)
            coords1 = coords1 + delta_flow
            flow_predictions.append(coords1 - coords0)
        return flow_predictions


# %%
model = SmallRAFT()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-5)
epes = []

# %%
for step in range(80):
    texture = torch.randn(4, 1, 16, 16)
    shift = torch.randint(-2, 3, (4, 2))
    image1 = texture[:, :, 2:14, 2:14]
    image2 = torch.stack([t[:, 2 - dy:14 - dy, 2 - dx:14 - dx] for t, (dx, dy) in zip(texture, shift.tolist())])
    flow_gt = shift.float()[:, :, None, None].expand(-1, -1, 12, 12)
    predictions = model(image1, image2)
    flow_loss = sum(0.8 ** (len(predictions) - 1 - i) * (p - flow_gt).abs().mean() for i, p in enumerate(predictions))
    optimizer.zero_grad()
    flow_loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    epes.append((predictions[-1] - flow_gt).norm(dim=1).mean().item())
print(epes[0], epes[-1])
assert sum(epes[-5:]) < 0.6 * sum(epes[:5])
assert all(p.grad is not None for p in model.parameters())
