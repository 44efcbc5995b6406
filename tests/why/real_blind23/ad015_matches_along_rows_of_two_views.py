# https://github.com/mli0603/stereo-transformer/issues/11
import math

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


def write_pfm(disp):
    return np.flipud(disp).astype('<f').tobytes()


def read_pfm(buffer, height, width):
    return np.flipud(np.frombuffer(buffer, '<f').reshape(height, width)).copy()


def compute_left_occ_region(w, disp):
    coord = np.linspace(0, w - 1, w)[None, ]  # 1xW
    shifted_coord = coord - disp
    return shifted_coord < 0  # occlusion mask, 1 indicates occ


def augment(input_data):
    """
    apply augmentation and find occluded pixels
    """
    w = input_data['disp'].shape[-1]
    # set large/small values to be 0
    input_data['disp'][input_data['disp'] > w] = 0
    input_data['disp'][input_data['disp'] < 0] = 0

    # manually compute occ area (this is necessary after cropping)
    occ_mask = compute_left_occ_region(w, input_data['disp'])
    input_data['occ_mask'][occ_mask] = True

    # set occlusion area to 0
    input_data['disp'][input_data['occ_mask']] = 0
    input_data['disp'] = np.ascontiguousarray(input_data['disp'], dtype=np.float32)
    return {k: torch.from_numpy(v) for k, v in input_data.items()}


class DispNetDataset(torch.utils.data.Dataset):
    def __init__(self, size=8, height=8, width=32):
        self.height, self.width, self.files = height, width, []
        for _ in range(size):
            shift = np.random.randint(1, 6)
            right = np.random.rand(3, height, width + 6)
            left = np.roll(right, shift, axis=2)
            occ = np.zeros((height, width), dtype=bool)
            occ[:, :shift] = True
            disparity = np.full((height, width), -float(shift), dtype=np.float32)
            self.files.append((left[..., :width], right[..., :width], write_pfm(disparity), occ))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        left, right, disp, occ = self.files[idx]
        input_data = {'left': left.astype(np.float32), 'right': right.astype(np.float32),
                      'disp': read_pfm(disp, self.height, self.width), 'occ_mask': occ.copy()}
        return augment(input_data)


class STTR(nn.Module):
    def __init__(self, channel_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, channel_dim, 3, 1, 1), nn.ReLU(), nn.Conv2d(channel_dim, channel_dim, 3, 1, 1))
        self.occ_head = nn.Sequential(nn.Conv2d(channel_dim, 1, 3, 1, 1), nn.Sigmoid())

    def forward(self, left, right):
        feat_left, feat_right = self.backbone(left), self.backbone(right)
        w = left.shape[-1]
        attn = torch.einsum('nchw,nchv->nhwv', feat_left, feat_right).softmax(-1)
        pos = torch.linspace(0, w - 1, w)
        disp_pred = pos - attn @ pos
        return {'disp_pred': disp_pred, 'occ_pred': self.occ_head(feat_left).squeeze(1)}


class Criterion(nn.Module):
    def __init__(self, loss_weight):
        super().__init__()
        self.weights = loss_weight
        self.l1_criterion = nn.SmoothL1Loss()

    def compute_entropy_loss(self, occ_pred, occ_mask, invalid_mask):
        eps = 1e-6
        entropy_loss_occ = -torch.log(occ_pred[occ_mask] + eps)
        entropy_loss_noc = -torch.log(1.0 - occ_pred[~invalid_mask] + eps)
        return torch.cat([entropy_loss_occ, entropy_loss_noc]).mean()

    def forward(self, inputs, outputs):
        loss = {}
        invalid_mask = inputs['disp'] <= 0.0
        loss['l1'] = self.l1_criterion(outputs['disp_pred'][~invalid_mask], inputs['disp'][~invalid_mask])
        loss['occ_be'] = self.compute_entropy_loss(outputs['occ_pred'], inputs['occ_mask'], invalid_mask)
        loss['aggregated'] = sum(loss[key] * self.weights[key] for key in self.weights)
        return loss


# %%
data_loader = torch.utils.data.DataLoader(DispNetDataset(), batch_size=4, shuffle=True)
model = STTR()
criterion = Criterion({'l1': 1.0, 'occ_be': 1.0})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# %%
history = []
for epoch in range(3):
    for data in data_loader:
        outputs = model(data['left'], data['right'])
        losses = criterion(data, outputs)
        optimizer.zero_grad()
        losses['aggregated'].backward()
        optimizer.step()
        history.append({k: v.item() for k, v in losses.items()})
    print('Epoch', epoch, history[-1])
    if not math.isfinite(history[-1]['aggregated']):
        print("Loss is {}, stopping training".format(history[-1]['aggregated']))
        break
