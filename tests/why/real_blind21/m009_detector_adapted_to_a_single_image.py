# https://github.com/WongKinYiu/yolov7/issues/1935
import torch
import torch.nn as nn

torch.manual_seed(0)


class Detect(nn.Module):
    stride = None  # strides computed during build

    def __init__(self, nc=80, anchors=(), ch=()):  # detection layer
        super(Detect, self).__init__()
        self.nc = nc  # number of classes
        self.no = nc + 5  # number of outputs per anchor
        self.nl = len(anchors)  # number of detection layers
        self.na = len(anchors[0]) // 2  # number of anchors
        self.grid = [torch.zeros(1)] * self.nl  # init grid
        a = torch.tensor(anchors).float().view(self.nl, -1, 2)
        self.register_buffer('anchors', a)  # shape(nl,na,2)
        self.register_buffer('anchor_grid', a.clone().view(self.nl, 1, -1, 1, 1, 2))  # shape(nl,1,na,1,1,2)
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)  # output conv

    def forward(self, x):
        z = []  # inference output
        for i in range(self.nl):
            x[i] = self.m[i](x[i])  # conv
            bs, _, ny, nx = x[i].shape  # x(bs,255,20,20) to x(bs,3,20,20,85)
            x[i] = x[i].view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()

            if not self.training:  # inference
                if self.grid[i].shape[2:4] != x[i].shape[2:4]:
                    self.grid[i] = self._make_grid(nx, ny).to(x[i].device)

                y = x[i].sigmoid()
                y[..., 0:2] = (y[..., 0:2] * 2. - 0.5 + self.grid[i]) * self.stride[i]  # xy
                y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * self.anchor_grid[i]  # wh
                z.append(y.view(bs, -1, self.no))

        return x if self.training else (torch.cat(z, 1), x)

    @staticmethod
    def _make_grid(nx=20, ny=20):
        yv, xv = torch.meshgrid([torch.arange(ny), torch.arange(nx)], indexing='ij')
        return torch.stack((xv, yv), 2).view((1, 1, ny, nx, 2)).float()


class Model(nn.Module):
    def __init__(self, nc=3):
        super(Model, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=4, padding=1), nn.BatchNorm2d(16), nn.SiLU())
        self.down = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.SiLU())
        self.detect = Detect(nc, anchors=((10, 13, 16, 30), (30, 61, 62, 45)), ch=(16, 32))
        self.detect.stride = torch.tensor([4., 8.])

    def forward(self, x):
        x1 = self.stem(x)
        return self.detect([x1, self.down(x1)])


def marginal_entropy(outputs):
    obj = outputs[..., 4:5]
    cls = outputs[..., 5:]
    probs = (obj * cls).mean(dim=(0, 1))
    probs = probs / probs.sum()
    return -(probs * torch.log(probs + 1e-8)).sum()


def adapt_single(image, optimizer, batch_size, model, device):
    model.eval()
    inputs_t = torch.cat([image + 0.05 * torch.randn_like(image) for _ in range(batch_size)]).to(device)
    optimizer.zero_grad()
    outputs, train_output = model(inputs_t)   # [batch_size, num_boxes, 85]
    loss = marginal_entropy(outputs)
    loss.backward()
    optimizer.step()
    return loss


# %%
device = 'cpu'
model = Model().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
image = torch.rand(1, 3, 32, 32)
model.eval()
with torch.no_grad():
    outputs, train_output = model(image)
print(outputs.shape)

# %%
loss = adapt_single(image, optimizer, 4, model, device)
print(loss.item())
