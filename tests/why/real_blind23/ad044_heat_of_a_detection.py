# https://github.com/pooya-mohammadi/yolov5-gradcam/issues/6
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Detect(nn.Module):
    def __init__(self, nc, na, ch):
        super().__init__()
        self.nc, self.na, self.no = nc, na, nc + 5
        self.m = nn.ModuleList(nn.Conv2d(c, self.no * na, 1) for c in ch)

    def forward(self, xs):
        z, logits_ = [], []
        for i, x in enumerate(xs):
            x = self.m[i](x)
            bs, _, ny, nx = x.shape
            x = x.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).reshape(bs, -1, self.no)
            logits_.append(x[..., 5:])
            z.append(torch.cat([x[..., :4], x[..., 4:].sigmoid()], -1))
        return torch.cat(z, 1), torch.cat(logits_, 1)


class YOLOV3(nn.Module):
    def __init__(self, nc=4, na=3):
        super().__init__()
        self.stem = nn.Sequential(Conv(3, 8, 3, 2), Conv(8, 16, 3, 2), Conv(16, 16, 3, 2))
        self.down4, self.down5 = Conv(16, 32, 3, 2), Conv(32, 64, 3, 2)
        self.neck_large = Conv(64, 32, 3)
        self.route = Conv(64, 32)
        self.neck_medium = Conv(64, 32, 3)
        self.route_small = Conv(64, 16)
        self.neck_small = Conv(32, 16, 3)
        self.detect = Detect(nc, na, (16, 32, 32))

    def forward(self, x):
        p3 = self.stem(x)
        p4 = self.down4(p3)
        p5 = self.down5(p4)
        large = self.neck_large(p5)
        up4 = torch.cat([F.interpolate(self.route(p5), scale_factor=2), p4], 1)
        medium = self.neck_medium(up4)
        up3 = torch.cat([F.interpolate(self.route_small(up4), scale_factor=2), p3], 1)
        small = self.neck_small(up3)
        return self.detect([small, medium, large])


class YOLOV3GradCAM:
    def __init__(self, model, layer_name):
        self.model = model
        self.gradients = dict()
        self.activations = dict()

        def backward_hook(module, grad_input, grad_output):
            self.gradients['value'] = grad_output[0]

        def forward_hook(module, input, output):
            self.activations['value'] = output

        target_layer = dict(model.named_modules())[layer_name]
        target_layer.register_forward_hook(forward_hook)
        target_layer.register_full_backward_hook(backward_hook)

    def forward(self, input_img):
        b, c, h, w = input_img.size()
        preds, logits = self.model(input_img)
        best = preds[0, :, 4].argmax()
        score = logits[0, best].max()
        self.model.zero_grad()
        score.backward(retain_graph=True)
        gradients, activations = self.gradients['value'], self.activations['value']
        b, k, u, v = gradients.size()
        alpha = gradients.view(b, k, -1).mean(2)
        weights = alpha.view(b, k, 1, 1)
        saliency_map = F.relu((weights * activations).sum(1, keepdim=True))
        saliency_map = F.interpolate(saliency_map, size=(h, w), mode='bilinear', align_corners=False)
        return saliency_map.detach(), preds, score


# %%
model = YOLOV3()
with torch.no_grad():
    model.detect.m[0].bias[4::9] -= 4.
    model.detect.m[1].bias[4::9] -= 4.
    model.detect.m[2].bias[4::9] += 1.
model.eval()
torch_img = torch.rand(1, 3, 128, 128)

# %%
saliency_method = YOLOV3GradCAM(model, layer_name='neck_medium.act')
saliency_map, preds, score = saliency_method.forward(torch_img)
print("score", score.item(), "saliency", saliency_map.min().item(), saliency_map.max().item())
print("gradient", saliency_method.gradients['value'].abs().max().item())
