# https://github.com/Okery/PyTorch-Simple-MaskRCNN/issues/15
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def expand_detection(mask, box, padding):
    M = mask.shape[-1]
    scale = (M + 2 * padding) / M
    padded_mask = F.pad(mask, (padding,) * 4)

    w_half = (box[:, 2] - box[:, 0]) * 0.5 * scale
    h_half = (box[:, 3] - box[:, 1]) * 0.5 * scale
    x_c = (box[:, 2] + box[:, 0]) * 0.5
    y_c = (box[:, 3] + box[:, 1]) * 0.5

    box_exp = torch.stack([x_c - w_half, y_c - h_half, x_c + w_half, y_c + h_half], dim=1)
    return padded_mask, box_exp.to(torch.int64)


def paste_masks_in_image(mask, box, padding, image_shape):
    mask, box = expand_detection(mask, box, padding)

    N = mask.shape[0]
    size = (N,) + tuple(image_shape)
    im_mask = torch.zeros(size, dtype=mask.dtype, device=mask.device)
    for m, b, im in zip(mask, box, im_mask):
        b = b.tolist()
        w = max(b[2] - b[0], 1)
        h = max(b[3] - b[1], 1)

        m = F.interpolate(m[None, None], size=(h, w), mode='bilinear', align_corners=False)[0][0]

        x1 = max(b[0], 0)
        y1 = max(b[1], 0)
        x2 = min(b[2], image_shape[1])
        y2 = min(b[3], image_shape[0])

        im[y1:y2, x1:x2] = m[(y1 - b[1]):(y2 - b[1]), (x1 - b[0]):(x2 - b[0])]
    return im_mask


class MaskHead(nn.Module):
    def __init__(self, boxes):
        super().__init__()
        self.boxes = boxes
        self.features = nn.Conv2d(3, 8, 3, padding=1)
        self.mask_fcn = nn.Conv2d(8, len(boxes), 1)

    def forward(self, image):
        h = F.adaptive_avg_pool2d(F.relu(self.features(image)), 14)
        return {"boxes": self.boxes, "masks": self.mask_fcn(h)[0].sigmoid()}


# %%
model = MaskHead(torch.tensor([[4., 6., 20., 24.], [10., 2., 30., 28.]]))
model.eval()
masks = None

# %%
img = torch.rand(1, 3, 32, 32)
res = model(img)
masks = paste_masks_in_image(res["masks"], res["boxes"], 1, (32, 32))
print(masks.shape)
