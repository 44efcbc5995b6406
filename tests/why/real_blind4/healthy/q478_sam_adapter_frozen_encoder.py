# https://github.com/tianrun-chen/SAM-Adapter-PyTorch/issues/72
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PromptGenerator(nn.Module):
    """lightweight MLPs that add a prompt to each block"""

    def __init__(self, embed_dim, depth, scale_factor=4):
        super().__init__()
        self.embedding_generator = nn.Linear(embed_dim, embed_dim // scale_factor)
        self.lightweight_mlps = nn.ModuleList([nn.Sequential(nn.Linear(embed_dim // scale_factor, embed_dim // scale_factor), nn.GELU())
                                               for _ in range(depth)])
        self.shared_mlp = nn.Linear(embed_dim // scale_factor, embed_dim)

    def forward(self, x, i):
        return self.shared_mlp(self.lightweight_mlps[i](self.embedding_generator(x)))


class ImageEncoderViT(nn.Module):
    def __init__(self, patch_size=4, embed_dim=16, depth=2):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, embed_dim, patch_size, patch_size)
        self.pos_embed = nn.Parameter(torch.randn(1, 16, embed_dim) * 0.02)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(embed_dim, 2, 32, dropout=0.0, batch_first=True) for _ in range(depth)])
        self.prompt_generator = PromptGenerator(embed_dim, depth)
        self.neck = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        embedding_feature = x
        x = x + self.pos_embed
        for i, blk in enumerate(self.blocks):
            x = blk(x + self.prompt_generator(embedding_feature, i))
        return self.neck(x)


class SAM(nn.Module):
    def __init__(self):
        super().__init__()
        self.image_encoder = ImageEncoderViT()
        self.mask_decoder = nn.Sequential(nn.ConvTranspose2d(16, 8, 2, 2), nn.GELU(), nn.ConvTranspose2d(8, 1, 2, 2))

    def forward(self, x):
        features = self.image_encoder(x)
        return self.mask_decoder(features.transpose(1, 2).reshape(-1, 16, 4, 4))


# %%
model = SAM()
for name, para in model.named_parameters():
    if "image_encoder" in name and "prompt_generator" not in name:
        para.requires_grad_(False)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
model_total_params = sum(p.numel() for p in model.parameters())
model_grad_params = sum(p.numel() for p in model.parameters() if p.requires_grad)
print('model_grad_params:' + str(model_grad_params), '\nmodel_total_params:' + str(model_total_params))
frozen = [p for p in model.parameters() if not p.requires_grad]
frozen_before = [p.detach().clone() for p in frozen]

for batch in range(3):
    inp, gt = torch.rand(2, 3, 16, 16), (torch.rand(2, 1, 16, 16) > 0.5).float()
    pred = model(inp)
    loss = F.binary_cross_entropy_with_logits(pred, gt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(batch, loss.item())
