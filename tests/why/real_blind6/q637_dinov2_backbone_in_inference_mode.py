# https://github.com/facebookresearch/dinov2/issues/472
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, embed_dim=8):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, embed_dim, 4, 4)
        self.blocks = nn.ModuleList([nn.Conv2d(embed_dim, embed_dim, 1) for _ in range(4)])

    @torch.inference_mode()
    def get_intermediate_layers(self, x, n):
        x, outputs = self.patch_embed(x), []
        for i, block in enumerate(self.blocks):
            x = x + F.gelu(block(x))
            if i in n:
                outputs.append(x)
        return outputs

    def forward(self, x):
        return self.get_intermediate_layers(x, n=[1, 3])


class BNHead(nn.Module):
    def __init__(self, in_channels, n_bins=16):
        super().__init__()
        self.projects = nn.ModuleList([nn.Conv2d(in_channels, in_channels, 1) for _ in range(2)])
        self.bn = nn.BatchNorm2d(2 * in_channels)
        self.conv_depth = nn.Conv2d(2 * in_channels, n_bins, 1)
        self.register_buffer('bins', torch.linspace(0.001, 10, n_bins).view(1, -1, 1, 1))

    def forward(self, inputs):
        inputs = [project(x) for project, x in zip(self.projects, inputs)]
        output = self.conv_depth(self.bn(torch.cat(inputs, dim=1)))
        logit = torch.relu(output) + 0.1
        return (logit / logit.sum(dim=1, keepdim=True) * self.bins).sum(dim=1, keepdim=True)


class DepthEncoderDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.decode_head = BNHead(8)

    def forward_train(self, img, depth_gt):
        depth = F.interpolate(self.decode_head(self.backbone(img)), size=depth_gt.shape[2:], mode='bilinear')
        return F.l1_loss(depth, depth_gt)


def create_depther():
    model = DepthEncoderDecoder()
    for p in model.backbone.parameters():
        p.requires_grad = False
    return model


# %%
model = create_depther()
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

# %%
for step in range(3):
    img, depth = torch.rand(2, 3, 16, 16), 10 * torch.rand(2, 1, 16, 16)
    loss = model.forward_train(img, depth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
