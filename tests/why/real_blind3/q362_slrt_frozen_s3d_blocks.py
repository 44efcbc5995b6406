# https://github.com/FangyunWei/SLRT/issues/74
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SepConv3d(nn.Module):
    def __init__(self, in_planes, out_planes):
        super().__init__()
        self.conv_s = nn.Conv3d(in_planes, out_planes, (1, 3, 3), padding=(0, 1, 1), bias=False)
        self.bn_s = nn.BatchNorm3d(out_planes)
        self.conv_t = nn.Conv3d(out_planes, out_planes, (3, 1, 1), padding=(1, 0, 0), bias=False)
        self.bn_t = nn.BatchNorm3d(out_planes)

    def forward(self, x):
        x = F.relu(self.bn_s(self.conv_s(x)))
        return F.relu(self.bn_t(self.conv_t(x)))


class S3D_backbone(nn.Module):
    def __init__(self, in_channel=3, num_blocks=3, freeze_block=1):
        super().__init__()
        planes = [in_channel, 4, 6, 8]
        self.base = nn.Sequential(*[SepConv3d(planes[i], planes[i + 1]) for i in range(num_blocks)])
        self.freeze_block = freeze_block
        self.frozen_modules = []
        for i in range(freeze_block):
            self.freeze(self.base[i])

    def freeze(self, module):
        for m in module.modules():
            for p in m.parameters(recurse=False):
                p.requires_grad = False
            m.eval()
        self.frozen_modules.append(module)

    def set_train(self):
        self.train()
        for module in self.frozen_modules:
            module.eval()

    def forward(self, video):
        return self.base(video).mean((3, 4)).transpose(1, 2)


class RecognitionNetwork(nn.Module):
    def __init__(self, num_gloss=5):
        super().__init__()
        self.visual_backbone = S3D_backbone()
        self.gloss_output_layer = nn.Linear(8, num_gloss)

    def forward(self, video):
        return F.log_softmax(self.gloss_output_layer(self.visual_backbone(video)), dim=-1)


# %%
model = RecognitionNetwork()
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
sgn_videos, gls, gls_lengths = torch.randn(2, 3, 6, 8, 8), torch.randint(1, 5, (2, 3)), torch.tensor([3, 2])

# %%
model.visual_backbone.set_train()
for step in range(2):
    gloss_logits = model(sgn_videos)
    recognition_loss = F.ctc_loss(gloss_logits.transpose(0, 1), gls, torch.tensor([6, 6]), gls_lengths, zero_infinity=True)
    optimizer.zero_grad()
    recognition_loss.backward()
    for name, param in model.named_parameters():
        if param.grad is None:
            print(f'{name} has None grad')
    optimizer.step()
